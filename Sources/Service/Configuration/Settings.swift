public import Crypto
import Formats

/// The configuration of one process. Every role reads the same file and takes the settings that it needs.
public struct Settings: Sendable {
  public var rabbitmq: RabbitMQSettings
  public var redis: RedisSettings
  public var ledger: LedgerSettings
  public var events: EventSettings
  public var appStore: AppStoreSettings
  public var gateway: GatewaySettings
  public var worker: WorkerSettings
  public var notifier: NotifierSettings
  public var simulator: SimulatorSettings
  /// The folder with one file per publisher.
  public var publishersFolder: String
  /// The least important level that the log shows.
  public var logLevel: LogLevel
  /// How often a role looks whether the files of its configuration have changed.
  public var reloadInterval: Duration
  /// Time for a role to finish its work after SIGTERM.
  public var shutdownGrace: Duration

  /// Levels of the log, from the most to the least talkative.
  public enum LogLevel: String, Sendable, CaseIterable { case debug, info, warning, error }

  init(_ reader: SettingsReader) {
    rabbitmq = RabbitMQSettings(reader)
    redis = RedisSettings(reader)
    ledger = LedgerSettings(reader)
    events = EventSettings(reader)
    publishersFolder = reader.path("publishers.folder", "publishers", "Folder with one JSON file per publisher.")
    appStore = AppStoreSettings(reader)
    gateway = GatewaySettings(reader)
    worker = WorkerSettings(reader)
    notifier = NotifierSettings(reader)
    simulator = SimulatorSettings(reader)
    logLevel = reader.choice("log.level", LogLevel.info, "Least important level that is logged.")
    reloadInterval = reader.seconds(
      "reloadSeconds", 30, 0.1...86_400,
      "How often a role compares the files of its configuration with what it has read; SIGHUP makes it look at once.")
    shutdownGrace = reader.seconds(
      "shutdownGraceSeconds", 25, 0...3600, "Time to finish the work in hand after SIGTERM; the rest is handed back.")
  }
}

/// The broker's address and the prefix of its queues.
public struct RabbitMQSettings: Sendable {
  public var host: String
  public var port: Int
  public var user: String
  public var password: String
  public var virtualHost: String
  /// The files for TLS; `nil` without TLS.
  public var tls: TLSClientFiles?
  /// Whether the certificate logs in, instead of a user and a password.
  public var logsInByCertificate: Bool
  /// Half of the silence after which a connection counts as dead.
  public var heartbeat: Duration
  /// First part of every exchange's and queue's name.
  public var prefix: String

  init(_ reader: SettingsReader) {
    let key = "rabbitmq.url"
    let text = reader.string(
      key, "amqp://guest:guest@127.0.0.1:5672/%2F",
      "AMQP 0-9-1 URL: `amqp://user:password@host:port/vhost`, or `amqps://` with TLS, by default on port 5671.",
      isSecret: true)
    let url = ServerURL(text)
    let isEncrypted = url?.scheme == "amqps"
    if url?.scheme != "amqp", !isEncrypted {
      reader.note(key, "expected amqp:// or amqps://user:password@host:port/vhost")
    }
    host = url?.host ?? ""
    port = url?.port ?? (isEncrypted ? 5671 : 5672)
    user = url?.user ?? "guest"
    let secret = reader.secret(
      "rabbitmq.passwordFile", isRequired: false, "File with the password, instead of one in the URL.")
    password = secret ?? url?.password ?? "guest"
    tls = TLSClientFiles(reader, "rabbitmq", of: "RabbitMQ", scheme: "amqps", isWanted: isEncrypted)
    logsInByCertificate = tls?.certificateFile != nil && url?.user == nil
    if logsInByCertificate, secret != nil {
      reader.note(
        "rabbitmq.passwordFile",
        "has no effect, since the certificate logs in; expected a user in rabbitmq.url, or no password")
    }
    virtualHost = url.map { $0.path.isEmpty ? "/" : $0.path } ?? "/"
    heartbeat = reader.seconds("rabbitmq.heartbeatSeconds", 10, 1...600, "AMQP heartbeat interval.")
    prefix = reader.string(
      "rabbitmq.prefix", "countersign", "First part of the names of all exchanges and queues.")
  }
}

/// Redis' address and the prefix of its keys.
public struct RedisSettings: Sendable {
  public var host: String
  public var port: Int
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
      "Redis URL: `redis://user:password@host:port/database`, or `rediss://` with TLS, by default on port 6380.",
      isSecret: true)
    let url = ServerURL(text)
    let isEncrypted = url?.scheme == "rediss"
    if url?.scheme != "redis", !isEncrypted {
      reader.note(key, "expected redis:// or rediss://user:password@host:port/database")
    }
    host = url?.host ?? ""
    port = url?.port ?? (isEncrypted ? 6380 : 6379)
    user = url?.user.flatMap { $0.isEmpty ? nil : $0 }
    let secret = reader.secret(
      "redis.passwordFile", isRequired: false, "File with the password, instead of one in the URL.")
    password = secret ?? url?.password
    tls = TLSClientFiles(reader, "redis", of: "Redis", scheme: "rediss", isWanted: isEncrypted)
    database = url.flatMap { Int($0.path) } ?? 0
    if let path = url?.path, !path.isEmpty, !path.isASCIIDigits() || Int(path) == nil {
      reader.note(key, "expected a database number after the host")
    }
    timeout = reader.seconds("redis.timeoutSeconds", 3, 0.05...60, "Time for a connection and for each reply.")
    connections = Int(
      reader.int("redis.connections", 4, 1...64, "Connections of one process; more share one write to Redis' disk."))
    prefix = reader.string("redis.prefix", "cs:", "First part of all keys.")
  }
}

/// A URL that names a server, split without Foundation's `URL`, which is lenient about ports and users.
struct ServerURL {
  let scheme: String
  var user: String?
  var password: String?
  let host: String
  var port: Int?
  /// The text after the host, decoded, without the slash.
  var path = ""

  init?(_ text: String) {
    guard let range = text.firstRange(of: "://") else { return nil }
    scheme = String(text[..<range.lowerBound])
    var rest = text[range.upperBound...]
    if let slash = rest.firstIndex(of: "/") {
      // Otherwise a query would silently become part of a name.
      guard !rest[slash...].contains(where: { $0 == "?" || $0 == "#" }) else { return nil }
      guard let path = PercentCoding.decoded(rest[rest.index(after: slash)...]) else { return nil }
      self.path = path
      rest = rest[..<slash]
    }
    if let at = rest.lastIndex(of: "@") {
      let words = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard let user = PercentCoding.decoded(words[0]) else { return nil }
      self.user = user
      if words.count == 2 {
        guard let password = PercentCoding.decoded(words[1]) else { return nil }
        self.password = password
      }
      rest = rest[rest.index(after: at)...]
    }
    if let colon = rest.lastIndex(of: ":"), rest.last != "]" {
      let digits = rest[rest.index(after: colon)...]
      guard digits.isASCIIDigits(1...5), let port = Int(digits), (1...65535).contains(port) else { return nil }
      self.port = port
      rest = rest[..<colon]
    }
    if rest.first == "[", rest.last == "]" {
      rest = rest.dropFirst().dropLast()
    } else if rest.contains(where: { ":[]".contains($0) }) {
      return nil  // an IPv6 address without its brackets: which colon belongs to the port cannot be told
    }
    guard !rest.isEmpty else { return nil }
    host = String(rest)
  }
}
