/// The exclusive right of one synchronization to a transactionId, from the registration until it is finalized.
public struct Claim: Sendable, Equatable {
  public let synchronizationId: String
  public let customerId: Int64

  /// Creates a claim.
  public init(synchronizationId: String, customerId: Int64) {
    self.synchronizationId = synchronizationId
    self.customerId = customerId
  }

  /// The text in Redis. A process that meets the claim reads its owner from it.
  public var encoded: String { "\(customerId)|\(synchronizationId)" }

  /// Reads the text in Redis.
  public init?(encoded: String) {
    guard let bar = encoded.firstIndex(of: "|"), let customer = Int64(encoded[..<bar]) else { return nil }
    customerId = customer
    synchronizationId = String(encoded[encoded.index(after: bar)...])
  }
}

extension Job {
  /// The claim that the job's synchronization has, or wants, on its transactionId.
  public var claim: Claim { Claim(synchronizationId: synchronizationId, customerId: customerId) }
}

/// The result of an attempt to claim a transactionId.
public enum ClaimAnswer: Sendable, Equatable {
  /// The claim is ours; the gateway must publish the job now.
  case claimed
  /// Another synchronization of the transaction is not finalized: the 409.
  case held(by: Claim)
  /// The publisher has not registered the customer: the 422.
  case unknownCustomer
  /// The same registration was finalized before; the client can read its status.
  case replayed
  /// The id already names another synchronization.
  case idInUse
}
