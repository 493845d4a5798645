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

  init(_ reader: SettingsReader, _ known: [any ConfiguredDoor]) {
    doors = DoorSettings(reader, known)
    limits = LimitSettings(reader)
    listen = ListenAddress(reader, "gateway.listen", "127.0.0.1:8080", "Address and port of the HTTP API.")
    maxBodyBytes = Int(
      reader.int("gateway.maxBodyBytes", 16384, 256...1_048_576, "A longer body is answered with 413."))
    maxHeaderBytes = Int(
      reader.int(
        "gateway.maxHeaderBytes", 16384, 4096...1_048_576,
        "Memory for the request line and header fields, with 64 bytes for each."))
    maxConnections = Int(reader.int("gateway.maxConnections", 4096, 1...100_000, "Connections at a time."))
    idleTimeout = reader.seconds(
      "gateway.idleTimeoutSeconds", 30, 1...3600, "A silent connection is closed after this.")
    maxConnectionsPerAddress = Int(
      reader.int(
        "gateway.maxConnectionsPerAddress", 1024, 1...100_000,
        "Connections of one client at a time; of a client behind a listed proxy, its requests. An IPv6 network of 48 "
          + "bits can have twice as many."))
    headTimeout = reader.seconds("gateway.headTimeoutSeconds", 10, 0.1...300, "Time for a whole head.")
    bodyTimeout = reader.seconds("gateway.bodyTimeoutSeconds", 60, 0.1...3600, "Time for a whole body.")
    minBodyRate = Int(
      reader.int(
        "gateway.minBodyBytesPerSecond", 1024, 1...1_048_576,
        "A body or a reader that is slower is cut, once the time for a head has passed."))
    bodySharePerPublisher = reader.factor(
      "gateway.bodySharePerPublisher", 0.5, 0.05...1,
      "Part of the 256 MiB for bodies with receipts that one publisher can have; its apps three quarters of that part.")
    bodySharePerAddress = reader.factor(
      "gateway.bodySharePerAddress", 0.25, 0.05...1,
      "Part of these, and of the 64 MiB for notifications, that one client address can have; an IPv6 network of 48 "
        + "bits twice as much.")
    publishTimeout = reader.seconds(
      "gateway.publishTimeoutSeconds", 5, 0.1...30, "Time for the broker to confirm a job before the answer is 503.")
    refusedNotificationsPerSecond = Int(
      reader.int(
        "gateway.refusedNotificationsPerSecond", 10, 1...100_000,
        "Notifications that are not Apple's from one client address to one publisher's path; those of 30 seconds may "
          + "come at once. Beyond that the address gets 429. All paths together have 20 times as much."))
    let key = "gateway.trustedProxies"
    trustedProxies = reader.strings(
      key, [],
      "Addresses and blocks, as `10.1.0.0/16`, of the proxies before the gateway; `X-Forwarded-For` of any other "
        + "sender counts nothing."
    ).compactMap { text in
      let block = AddressBlock(text)
      if block == nil { reader.note(key, "has \"\(text)\", expected an address, or a block such as 10.1.0.0/16") }
      return block
    }
  }
}
