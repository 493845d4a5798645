import Formats

/// The exclusive right of one synchronization to a transactionId, from the registration until it is finalized.
public struct Claim: Sendable, Equatable {
  public let synchronizationId: SynchronizationId
  public let customerId: CustomerId
  public let kind: Job.Kind
  /// In bulk nobody waits: a registration that somebody waits for takes the claim over.
  public let lane: JobLane

  /// Creates a claim.
  public init(
    synchronizationId: SynchronizationId, customerId: CustomerId, kind: Job.Kind = .registration,
    lane: JobLane = .usual
  ) {
    self.synchronizationId = synchronizationId
    self.customerId = customerId
    self.kind = kind
    self.lane = lane
  }

  /// The text in Redis. A process that meets the claim reads its owner from it.
  ///
  /// For example `7|user-42|4f0c…`, or `bt7|user-42|4f0c…` for a transfer in bulk. The customer's id may have any
  /// character. So the text has the number of its bytes.
  public var encoded: String {
    let marks = (lane == .bulk ? Self.bulk : "") + (kind == .transfer ? Self.transfer : "")
    return "\(marks)\(customerId.text.utf8.count)|\(customerId)|\(synchronizationId)"
  }

  /// The first byte of a claim in bulk.
  package static let bulk = "b"
  /// The byte before the number in a transfer's claim.
  private static let transfer = "t"

  /// Reads the text in Redis.
  public init?(encoded: String) {
    let bar = UInt8(ascii: "|")
    var text = encoded.utf8[...]
    lane = text.first == Self.bulk.utf8.first ? .bulk : .usual
    if lane == .bulk { text.removeFirst() }
    kind = text.first == Self.transfer.utf8.first ? .transfer : .registration
    if kind == .transfer { text.removeFirst() }
    let parts = text.split(separator: bar, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let length = Substring(parts[0]).isASCIIDigits(1...3) ? Int(Substring(parts[0])) : nil,
      parts[1].count > length
    else { return nil }
    let rest = parts[1]
    let end = rest.index(rest.startIndex, offsetBy: length)
    guard rest[end] == bar, let customer = String(rest[..<end]),
      let synchronization = String(rest[rest.index(after: end)...])
    else { return nil }
    (customerId, synchronizationId) = (CustomerId(customer), SynchronizationId(synchronization))
  }
}

extension Job {
  /// The claim that the job's synchronization has, or wants, on its transactionId.
  public var claim: Claim {
    Claim(synchronizationId: synchronizationId, customerId: customerId, kind: kind, lane: lane)
  }
}

/// The result of an attempt to claim a transactionId.
public enum ClaimAnswer: Sendable, Equatable {
  /// The claim is ours; the gateway must publish the job now.
  case claimed
  /// Another synchronization of the transaction is not finalized: the 409.
  case held(by: Claim)
  /// Redis has no copy of the customer. Unless the ledger knows the customer: the 422.
  case unknownCustomer
  /// The same registration was finalized before; the client can read its status.
  case replayed
  /// Redis does not know the id, and the ledger could not be asked.
  case unknownId
  /// The id already names another synchronization.
  case idInUse
  /// The publisher or the customer has reached a limit. It makes sense to try again after this long.
  case limited(Limit, Duration)
}
