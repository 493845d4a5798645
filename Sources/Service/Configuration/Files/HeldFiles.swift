import Crypto

/// The certificates and keys of the connections to servers, held in memory.
///
/// For example, `redis.caFile` is `/etc/countersign/ca.pem`. The settings of a role name a copy instead. When the file
/// has a new content and the whole configuration is usable, the copy gets it, and new connections use it.
public final class HeldFiles {
  private var held: [WritableKeyPath<Settings, String?>: HeldFile] = [:]

  private static func places(of user: SettingsUser) -> [WritableKeyPath<Settings, String?>] {
    var places: [WritableKeyPath<Settings, String?>] = [
      \.rabbitmq.caFile, \.rabbitmq.certificateFile, \.rabbitmq.privateKeyFile, \.redis.caFile,
      \.redis.certificateFile, \.redis.privateKeyFile, \.ledger.caFile,
    ]
    if user == .worker { places.append(\.appStore.caFile) }
    if user == .notifier { places.append(\.notifier.caFile) }
    return places
  }

  /// Holds no file yet.
  public init() {}

  /// Takes the present contents of the files that a role needs, and names the copies in the settings.
  ///
  /// - Throws: `HeldFile.Failure` when a file cannot be read. The others may have new contents then.
  public func take(_ settings: inout Settings, for user: SettingsUser) throws(HeldFile.Failure) {
    for place in Self.places(of: user) {
      guard let file = settings[keyPath: place] else { continue }
      if let copy = held[place] {
        _ = try copy.take(file)
      } else {
        held[place] = try HeldFile(file)
      }
      settings[keyPath: place] = held[place]?.path
    }
  }
}

extension RabbitMQSettings {
  fileprivate var caFile: String? {
    get { tls?.caFile }
    set { tls?.caFile = newValue }
  }
  fileprivate var certificateFile: String? {
    get { tls?.certificateFile }
    set { tls?.certificateFile = newValue }
  }
  fileprivate var privateKeyFile: String? {
    get { tls?.privateKeyFile }
    set { tls?.privateKeyFile = newValue }
  }
}

extension RedisSettings {
  fileprivate var caFile: String? {
    get { tls?.caFile }
    set { tls?.caFile = newValue }
  }
  fileprivate var certificateFile: String? {
    get { tls?.certificateFile }
    set { tls?.certificateFile = newValue }
  }
  fileprivate var privateKeyFile: String? {
    get { tls?.privateKeyFile }
    set { tls?.privateKeyFile = newValue }
  }
}
