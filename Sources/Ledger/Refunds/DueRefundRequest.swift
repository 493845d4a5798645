public import Domain

/// A request that a worker has taken.
public struct DueRefundRequest: Sendable, Equatable {
  public let request: RefundRequest
  /// The present decision of its customer.
  public let consent: Consent?
  /// Nobody has changed the request as long as its row has this revision.
  public let revision: Int64
}
