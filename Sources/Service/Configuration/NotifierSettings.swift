public import Transport

/// The notifier: events in, webhooks out.
public struct NotifierSettings: Sendable {
  public var listen: ListenAddress
  /// Deliveries that one process holds of each of its three queues; also the prefetch. It is much more than slow
  /// endpoints may take, so that they delay no other endpoint.
  public var concurrency: Int
  /// Time for one attempt.
  public var timeout: Duration
  /// Time for DNS, TCP and TLS of one attempt.
  public var connectTimeout: Duration
  /// Delay before each further attempt, for endpoints without a schedule of their own.
  public var retrySchedule: [Duration]
  /// How long an endpoint may fail before a notifier disables it.
  public var disableAfter: Duration
  /// How long a client can read attempts and events, and ask for them again.
  public var logRetention: Duration
  /// How often a notifier looks for deliveries that no queue holds.
  public var sweepInterval: Duration
  /// How long after its time a delivery counts as lost, if no delivery waits in the queue.
  public var sweepAfter: Duration
  /// Whether endpoints may be `http://`; for development.
  public var allowsInsecureEndpoints: Bool
  /// The addresses that are allowed besides the public internet.
  public var addresses: AddressPolicy
  public var caFile: String?

  /// The URLs that endpoints may have.
  public var webhookAddress: WebhookAddress { WebhookAddress(allowsHTTP: allowsInsecureEndpoints, policy: addresses) }

  init(_ reader: SettingsReader) {
    listen = ListenAddress(
      reader, "notifier.listen", "127.0.0.1:9102", "Address and port of /livez, /readyz and /metrics.")
    concurrency = Int(
      reader.int(
        "notifier.concurrency", 1000, 1...10_000,
        "How many deliveries one process takes from each of its three queues. Also how many attempts may run at the "
          + "same time."))
    timeout = reader.seconds("notifier.timeoutSeconds", 20, 0.1...120, "How long one attempt may take.")
    connectTimeout = reader.seconds(
      "notifier.connectTimeoutSeconds", 5, 0.1...120, "How long an attempt may take to connect: DNS, TCP and TLS.")
    retrySchedule = reader.secondsList(
      "notifier.retryScheduleSeconds", [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400],
      "Delay before each further attempt. Each delay is randomly up to a fifth longer or shorter.")
    disableAfter = reader.seconds(
      "notifier.disableAfterSeconds", 432_000, 1...31_536_000,
      "If every attempt at an endpoint has failed for this long, the notifier disables the endpoint.")
    logRetention = reader.seconds(
      "notifier.logRetentionSeconds", 2_592_000, 60...31_536_000,
      "How long the ledger keeps attempts and events, to be read and sent again.")
    sweepInterval = reader.seconds(
      "notifier.sweepIntervalSeconds", 30, 0.1...3600,
      "How often notifiers look for due deliveries that no queue holds.")
    sweepAfter = reader.seconds(
      "notifier.sweepAfterSeconds", 60, 0.1...86_400,
      "How long a delivery must be overdue before a notifier enqueues it again, if no queue seems to hold it.")
    allowsInsecureEndpoints = reader.bool(
      "notifier.allowsInsecureEndpoints", false,
      "Whether endpoints may be `http://`; for development. It also decides which URLs the gateway accepts.")
    let key = "notifier.allowedNetworks"
    addresses = AddressPolicy(
      allowing: reader.strings(
        key, [],
        "Blocks of addresses, such as `10.1.0.0/16`, that endpoints may have although they are not public. They also "
          + "decide which URLs the gateway accepts."
      ).compactMap { text in
        let block = AddressBlock(text)
        if block == nil { reader.note(key, "has \"\(text)\", expected a block such as 10.1.0.0/16 or fd00::/8") }
        return block
      })
    caFile = reader.optionalPath(
      "notifier.caFile", "PEM file of certificate authorities for endpoints, instead of the system's.")
  }
}
