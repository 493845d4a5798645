import Domain
import Redis

extension LeaseAnswer {
  /// Reads the answer of the script `take lease`; `nil` for any other reply.
  init?(_ value: RESPValue) {
    let reply = value.array ?? []
    switch reply.first?.string {
    case "taken":
      guard let lease = Lease(value) else { return nil }
      self = .taken(lease)
    case "line": self = .inLine(reply[at: 1].wait() ?? .seconds(1), copy: reply[at: 2].string ?? "")
    case "superseded": self = .superseded
    case "busy": self = .busy(reply[at: 1].wait() ?? .seconds(1))
    case "finalized": self = .finalized
    case "foreign": self = .foreign
    default: return nil
    }
  }
}

extension Lease {
  /// Reads the answer of `giveLease`; `nil` for any other reply.
  init?(_ value: RESPValue) {
    let reply = value.array ?? []
    guard reply.first?.string == "taken", let fence = reply[at: 1].integer else { return nil }
    self.init(
      fence: fence, route: reply[at: 2].string.flatMap { $0.isEmpty ? nil : $0 }, takenAt: reply[at: 3].integer,
      crashes: Int(clamping: reply[at: 4].integer ?? 0), call: Self.call(reply), covered: Self.covered(reply),
      deliveries: Int(clamping: reply[at: 9].integer ?? 1))
  }

  private static func call(_ reply: [RESPValue]) -> CallPermit? {
    guard let place = reply[at: 5].string, let endpoint = reply[at: 6].string, !endpoint.isEmpty else { return nil }
    return CallPermit(place: PlaceName(place), endpoint: endpoint)
  }

  private static func covered(_ reply: [RESPValue]) -> CoveredPurchase? {
    guard let original = reply[at: 7].string, let environment = reply[at: 8].string else { return nil }
    return CoveredPurchase(
      originalTransactionId: OriginalTransactionId(original), environment: Environment(environment))
  }
}
