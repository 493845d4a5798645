/// What a webhook body says that another system has posted, and somebody has recorded.
public enum RecordedBody: Sendable, Equatable {
  /// Something about purchases of a customer.
  ///
  /// - Parameters:
  ///   - isWhole: whether the body lists all that the customer has.
  ///   - at: milliseconds since 1970; `nil` if the body does not say.
  case purchases([TransactionId: ClaimedPurchase], of: CustomerId, isWhole: Bool, at: Int64?)
  /// Customers have given all of their purchases to another one.
  case transfer(from: Set<CustomerId>, to: CustomerId, at: Int64?)
  /// Nothing about a purchase at Apple's store.
  case nothing

  /// When the body was made, in milliseconds since 1970; `nil` if it does not say.
  public var time: Int64? {
    switch self {
    case .purchases(_, _, _, let time), .transfer(_, _, let time): time
    case .nothing: nil
    }
  }

  /// Why a body cannot be used.
  public struct Unusable: Error {
    /// In words for a person.
    public let cause: String

    /// Creates the error.
    public init(cause: String) { self.cause = cause }
  }
}
