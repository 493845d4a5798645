import Crypto
import FoundationEssentials

/// The certificates and keys of the connections to servers, held in memory.
///
/// For example, `redis.caFile` is `/etc/countersign/ca.pem`. The settings of a role name a copy instead. When the file
/// has a new content and the whole configuration is usable, the copy gets it, and new connections use it.
public final class HeldFiles {
  private var held: [Int: HeldFile] = [:]

  private static var places: [WritableKeyPath<Settings, String?>] {
    [
      \.rabbitmq.tls.caFile, \.rabbitmq.tls.certificateFile, \.rabbitmq.tls.privateKeyFile, \.redis.tls.caFile,
      \.redis.tls.certificateFile,
      \.redis.tls.privateKeyFile, \.ledger.caFile, \.notifier.caFile,
    ]
  }

  /// The contents of the files, by their place.
  public struct Contents: Sendable {
    fileprivate var bytes: [Int: [UInt8]] = [:]

    /// Reads the files that a role holds. It blocks.
    ///
    /// - Throws: `HeldFile.Failure` when one cannot be read.
    public init(of settings: Settings, for user: SettingsUser) throws(HeldFile.Failure) {
      for (number, place) in HeldFiles.places.enumerated() {
        // The other roles may lack this file.
        if place == \.notifier.caFile, user != .notifier { continue }
        guard let file = settings[keyPath: place] else { continue }
        guard let data = try? Data(contentsOf: URL(filePath: file)) else {
          throw HeldFile.Failure(
            description: "the file \(FileBytes.absolute(file)) cannot be read\(FileBytes.cause(file))")
        }
        bytes[number] = Array(data)
      }
    }
  }

  /// Holds no file yet.
  public init() {}

  /// Takes contents, and names the copies in the settings.
  ///
  /// - Throws: `HeldFile.Failure` when the system has no room for the copies. Then all are as they were: a certificate
  ///   must not change without its key.
  public func take(_ contents: Contents, _ settings: inout Settings) throws(HeldFile.Failure) {
    var copies: [Int: HeldFile] = [:]
    for (number, bytes) in contents.bytes where held[number]?.holds(bytes) != true {
      copies[number] = try HeldFile(bytes)
    }
    for (number, copy) in copies {
      if let old = held[number] { try old.take(copy) } else { held[number] = copy }
    }
    for number in contents.bytes.keys { settings[keyPath: Self.places[number]] = held[number]?.path }
  }
}

/// The files of a connection that may be without TLS: `nil` then, and nothing to set.
extension TLSClientFiles? {
  fileprivate var caFile: String? {
    get { self?.caFile }
    set { self?.caFile = newValue }
  }
  fileprivate var certificateFile: String? {
    get { self?.certificateFile }
    set { self?.certificateFile = newValue }
  }
  fileprivate var privateKeyFile: String? {
    get { self?.privateKeyFile }
    set { self?.privateKeyFile = newValue }
  }
}
