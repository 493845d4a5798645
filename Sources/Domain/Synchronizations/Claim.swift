import Formats

/// The exclusive right of one synchronization to a transactionId, from the registration until it is finalized.
public struct Claim: Sendable, Equatable {
  public let synchronizationId: SynchronizationId
  public let customerId: CustomerId
  public let kind: Job.Kind

  /// Creates a claim.
  public init(synchronizationId: SynchronizationId, customerId: CustomerId, kind: Job.Kind = .registration) {
    self.synchronizationId = synchronizationId
    self.customerId = customerId
    self.kind = kind
  }

  /// The text in Redis. A process that meets the claim reads its owner from it.
  ///
  /// The customer's id may have any character. So the text begins with the number of its bytes.
  public var encoded: String {
    "\(kind == .transfer ? Self.transfer : "")\(customerId.text.utf8.count)|\(customerId)|\(synchronizationId)"
  }

  /// The first byte of a transfer's claim.
  private static let transfer = "t"

  /// Reads the text in Redis.
  public init?(encoded: String) {
    let bar = UInt8(ascii: "|")
    kind = encoded.hasPrefix(Self.transfer) ? .transfer : .registration
    let parts = encoded.utf8.dropFirst(kind == .transfer ? 1 : 0).split(
      separator: bar, maxSplits: 1, omittingEmptySubsequences: false)
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
  public var claim: Claim { Claim(synchronizationId: synchronizationId, customerId: customerId, kind: kind) }
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
