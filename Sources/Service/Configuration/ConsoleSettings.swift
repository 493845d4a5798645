import Formats

/// The console: pages for the publisher's support and for operators. It is off until `console.usersFile` names a file.
public struct ConsoleSettings: Sendable {
  public var listen: ListenAddress
  /// The file of the people who may sign in; `nil` while the console is off.
  public var usersFile: String?
  /// How browsers reach the console: scheme, host and perhaps a path; `nil` if they reach the listener itself.
  public var publicURL: String?
  /// A session ends when nobody has used it for so long.
  public var idleTimeout: Duration
  /// A session ends after this time, however much it is used.
  public var sessionTimeout: Duration
  /// PostgreSQL breaks off a statement of the console that takes longer.
  public var statementTimeout: Duration

  public static let usersFileKey = "console.usersFile"

  init(_ reader: SettingsReader) {
    listen = ListenAddress(reader, "console.listen", "127.0.0.1:8090", "Address and port of the console's pages.")
    usersFile = reader.optionalPath(
      Self.usersFileKey,
      "File of the people who may sign in, one line each, as `countersign console-password` prints it. Without it, the "
        + "console does not start.")
    let key = "console.publicUrl"
    publicURL = reader.optionalString(
      key,
      "How browsers reach the console behind a proxy, as `https://support.example.com/countersign`. With `https://`, "
        + "cookies are for TLS only.", shown: "the listener's own address")
    if let publicURL, Self.parts(of: publicURL) == nil {
      reader.note(key, "is \"\(publicURL)\", expected https://host or https://host/path, without a slash at its end")
    }
    idleTimeout = reader.seconds(
      "console.idleTimeoutSeconds", 1800, 60...86_400, "A session that nobody uses ends after this.")
    sessionTimeout = reader.seconds(
      "console.sessionSeconds", 43_200, 60...604_800, "A session ends after this, however much it is used.")
    statementTimeout = reader.seconds(
      "console.statementTimeoutSeconds", 2, 0.1...60, "PostgreSQL breaks off a look-up that takes longer.")
  }

  /// Splits a public URL.
  ///
  /// - Returns: the origin as browsers send it, and the path before all pages; `nil` for a text that is no such URL.
  public static func parts(of url: String) -> (origin: String, path: String)? {
    guard let scheme = ["https://", "http://"].first(where: url.hasPrefix) else { return nil }
    let rest = url.dropFirst(scheme.count)
    let host = rest.prefix { $0 != "/" }
    let path = rest[host.endIndex...]
    let isHost = { (byte: UInt8) in
      byte.isASCIIDigit || (0x61...0x7a).contains(byte) || [0x2d, 0x2e, 0x3a].contains(byte)
    }
    let isPath = { (byte: UInt8) in isHost(byte) && byte != 0x3a || byte == 0x2f || byte == 0x5f }
    guard !host.isEmpty, host.utf8.allSatisfy(isHost), path.utf8.allSatisfy(isPath), !path.hasSuffix("/"),
      !path.contains("//")
    else { return nil }
    return (scheme + host, String(path))
  }
}
