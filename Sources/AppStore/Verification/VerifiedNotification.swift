/// A notification. The verifier checked its nested texts along with it.
public struct VerifiedNotification: Hashable, Sendable {
  /// The notification.
  public let payload: NotificationPayload
  /// The transaction in it.
  public internal(set) var transaction: TransactionPayload?
  /// The renewal information in it, about the same purchase as the transaction.
  public internal(set) var renewalInfo: RenewalInfoPayload?
  /// The app transaction in it.
  public internal(set) var appTransaction: AppTransactionPayload?

  /// Creates a notification without nested data, for tests and fakes.
  public init(payload: NotificationPayload) {
    self.payload = payload
  }
}
