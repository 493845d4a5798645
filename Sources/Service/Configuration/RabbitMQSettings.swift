public import Crypto
public import Formats

/// The broker's addresses and the prefix of its queues.
public struct RabbitMQSettings: Sendable {
  /// The nodes of the broker; empty after a mistake.
  public var nodes: [ServerAddress]
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
  /// How many nodes a new quorum queue gets; `nil` leaves it to RabbitMQ.
  public var quorumInitialGroupSize: Int?

  init(_ reader: SettingsReader) {
    let key = "rabbitmq.url"
    let text = reader.string(
      key, "amqp://guest:guest@127.0.0.1:5672/%2F",
      "AMQP 0-9-1 URL: `amqp://user:password@host:port,host2:port2/vhost`, or `amqps://` with TLS, by default on port "
        + "5671. Each connection uses any one of the hosts.",
      isSecret: true)
    let url = ServerURL(text, namesSeveral: true)
    let isEncrypted = url?.scheme == "amqps"
    if url?.scheme != "amqp", !isEncrypted {
      reader.note(key, "expected amqp:// or amqps://user:password@host:port/vhost")
    }
    nodes = url?.addresses(port: isEncrypted ? 5671 : 5672) ?? []
    user = url?.user ?? "guest"
    let secret = reader.password(
      "rabbitmq.passwordFile", "File with the password, instead of one in the URL.")
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
    let size = reader.int(
      "rabbitmq.quorumInitialGroupSize", 0, 0...9,
      "The argument `x-quorum-initial-group-size` of new queues, for example 3 on three nodes. 0 sends none, and RabbitMQ "
        + "chooses.")
    quorumInitialGroupSize = size == 0 ? nil : Int(size)
  }
}
