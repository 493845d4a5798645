public import Crypto
public import Formats

/// Redis' addresses and the prefix of its keys.
public struct RedisSettings: Sendable {
  /// The server of the URL, or the first sentinel.
  public var address: ServerAddress
  /// The sentinels that know the primary; `nil` when ``address`` leads to it.
  public var sentinels: SentinelSettings?
  public var user: String?
  public var password: String?
  public var database: Int
  /// The files for TLS; `nil` without TLS.
  public var tls: TLSClientFiles?
  /// Time for a connection, and for the reply to a command.
  public var timeout: Duration
  /// Connections of one process.
  public var connections: Int
  /// First part of every key.
  public var prefix: String

  init(_ reader: SettingsReader) {
    let key = "redis.url"
    let text = reader.string(
      key, "redis://127.0.0.1:6379/0",
      "Redis URL: `redis://user:password@host:port/database`, or `rediss://` with TLS, by default on port 6380. With "
        + "Sentinel: `redis+sentinel://user:password@host:port,host2:port2/primary/database`, or `rediss+sentinel://`, "
        + "by default on port 26379.",
      isSecret: true)
    let url = ServerURL(text, namesSeveral: true)
    let isEncrypted = url?.scheme == "rediss" || url?.scheme == "rediss+sentinel"
    let hasSentinels = url?.scheme == "redis+sentinel" || url?.scheme == "rediss+sentinel"
    if url?.scheme != "redis", !isEncrypted, !hasSentinels {
      reader.note(key, "expected redis:// or rediss://user:password@host:port/database")
    }
    let addresses = url?.addresses(port: hasSentinels ? 26379 : isEncrypted ? 6380 : 6379) ?? []
    address = addresses.first ?? ServerAddress(host: "", port: 6379)
    if addresses.count > 1, !hasSentinels {
      reader.note(
        key, "names several hosts, expected one, or redis+sentinel://host:port,host2:port2/primary/database")
    }
    user = url?.user.flatMap { $0.isEmpty ? nil : $0 }
    let secret = reader.password(
      "redis.passwordFile", "File with the password, instead of one in the URL.")
    password = secret ?? url?.password
    tls = TLSClientFiles(reader, "redis", of: "Redis", scheme: "rediss", isWanted: isEncrypted)
    var path = url?.path ?? ""
    sentinels = SentinelSettings(reader, key, hasSentinels ? addresses : nil, &path)
    database = Int(path) ?? 0
    if !path.isEmpty, !path.isASCIIDigits() || Int(path) == nil {
      reader.note(key, "expected a database number after the \(hasSentinels ? "primary's name" : "host")")
    }
    timeout = reader.seconds(
      "redis.timeoutSeconds", 3, 0.05...60, "How long a process waits for a connection, and for each reply.")
    connections = Int(
      reader.int(
        "redis.connections", 4, 1...64,
        "Connections of one process. Several connections share one write to Redis' disk."))
    prefix = reader.string("redis.prefix", "cs:", "First part of all keys.")
  }
}
