/// The exclusive right of one synchronization to a transactionId, from the registration until it is finalized.
public struct Claim: Sendable, Equatable {
  public let synchronizationId: String
  public let customerId: Int64

  /// Creates a claim.
  public init(synchronizationId: String, customerId: Int64) {
    self.synchronizationId = synchronizationId
    self.customerId = customerId
  }

  /// The text that stands in Redis, so that whoever meets the claim knows whose it is.
  public var encoded: String { "\(customerId)|\(synchronizationId)" }

  /// Reads the text that stands in Redis.
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

/// What became of the attempt to claim a transactionId.
public enum ClaimAnswer: Sendable, Equatable {
  /// The claim is ours; the job must be published now.
  case claimed
  /// Another synchronization of the transaction is not finalized: the 409.
  case held(by: Claim)
  /// The customer is not known: the 422.
  case unknownCustomer
  /// The same registration was finalized before; its status can be read.
  case replayed
  /// The id names a synchronization of something else.
  case idInUse
}
