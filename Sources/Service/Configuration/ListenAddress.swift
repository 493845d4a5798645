import Transport

/// A numeric address and a port.
public struct ListenAddress: Sendable, Equatable {
  public var host: String
  /// 0 takes any free port.
  public var port: Int

  init(_ reader: SettingsReader, _ key: String, _ fallback: String, _ meaning: String) {
    let text = reader.string(key, fallback, meaning)
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let port = parts.last.flatMap { UInt16($0) }
    host = parts.dropLast().joined(separator: ":")
    if host.first == "[", host.last == "]" { host = String(host.dropFirst().dropLast()) }
    self.port = port.map(Int.init) ?? 0
    // A name cannot be listened on, and that must not come out only at the start.
    if port == nil || NetworkAddress(host) == nil {
      reader.note(key, "is \"\(text)\", expected address:port with a numeric address, for example 0.0.0.0:8080")
    }
  }
}
