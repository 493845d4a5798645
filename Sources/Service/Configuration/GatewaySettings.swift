public import Transport

/// The gateway: HTTP in, jobs out.
public struct GatewaySettings: Sendable {
  public var listen: ListenAddress
  public var maxBodyBytes: Int
  public var maxHeaderBytes: Int
  public var maxConnections: Int
  public var maxConnectionsPerAddress: Int
  public var idleTimeout: Duration
  public var headTimeout: Duration
  public var bodyTimeout: Duration
  /// Bytes a second.
  public var minBodyRate: Int
  /// How much of the memory for large bodies one publisher and one client address can have, from 0 to 1.
  public var bodySharePerPublisher: Double
  public var bodySharePerAddress: Double
  /// Time for the broker to confirm a job before the client gets a 503.
  public var publishTimeout: Duration
  /// The proxies whose `X-Forwarded-For` names the client.
  public var trustedProxies: [AddressBlock]
  /// How many notifications of one client address the gateway refuses in a second before it answers 429.
  public var refusedNotificationsPerSecond: Int
  public var doors: DoorSettings
  public var limits: LimitSettings

  public static let trustedProxiesKey = "gateway.trustedProxies"

  init(_ reader: SettingsReader, _ known: [any ConfiguredDoor]) {
    doors = DoorSettings(reader, known)
    limits = LimitSettings(reader)
    listen = ListenAddress(reader, "gateway.listen", "127.0.0.1:8080", "Address and port of the HTTP API.")
    maxBodyBytes = Int(
      reader.int(
        "gateway.maxBodyBytes", 16384, 256...1_048_576, "Longest body of a request, in bytes. A longer one gets 413."))
    maxHeaderBytes = Int(
      reader.int(
        "gateway.maxHeaderBytes", 16384, 4096...1_048_576,
        "Memory for the request line and the header fields of a request, in bytes. Each field counts 64 bytes more."))
    maxConnections = Int(
      reader.int(
        "gateway.maxConnections", 4096, 1...100_000, "How many connections a gateway accepts at the same time."))
    idleTimeout = reader.seconds(
      "gateway.idleTimeoutSeconds", 30, 1...3600, "How long a connection may be silent before the gateway closes it.")
    maxConnectionsPerAddress = Int(
      reader.int(
        "gateway.maxConnectionsPerAddress", 1024, 1...100_000,
        "How many connections one client may have at the same time. Behind a listed proxy, its requests count instead. "
          + "An IPv6 network of 48 bits may have twice as many."))
    headTimeout = reader.seconds(
      "gateway.headTimeoutSeconds", 10, 0.1...300, "How long a client may take to send the head of a request.")
    bodyTimeout = reader.seconds(
      "gateway.bodyTimeoutSeconds", 60, 0.1...3600, "How long a client may take to send the body of a request.")
    minBodyRate = Int(
      reader.int(
        "gateway.minBodyBytesPerSecond", 1024, 1...1_048_576,
        "Slowest rate at which a client may send a body or read an answer, once `gateway.headTimeoutSeconds` have "
          + "passed."))
    bodySharePerPublisher = reader.factor(
      "gateway.bodySharePerPublisher", 0.5, 0.05...1,
      "Part of the 256 MiB for bodies with receipts that one publisher may use. Its apps may use three quarters of "
        + "that part.")
    bodySharePerAddress = reader.factor(
      "gateway.bodySharePerAddress", 0.25, 0.05...1,
      "Part of these 256 MiB, and of the 64 MiB for notifications, that one client address may use. An IPv6 network of "
        + "48 bits may use twice as much.")
    publishTimeout = reader.seconds(
      "gateway.publishTimeoutSeconds", 5, 0.1...30,
      "How long a gateway waits for the broker to confirm a job. Then it answers 503.")
    refusedNotificationsPerSecond = Int(
      reader.int(
        "gateway.refusedNotificationsPerSecond", 10, 1...100_000,
        "How many notifications that Apple did not sign one client address may post in a second to one publisher's "
          + "path. Those of 30 seconds may come at once. Beyond that, the address gets 429. All paths together have 20 "
          + "times as much."))
    trustedProxies = reader.trustedProxies(Self.trustedProxiesKey, before: "gateway")
  }
}
