/// A publisher's user.
public struct Customer: Sendable, Equatable {
  /// `cleengCustomerId` on the wire.
  public let id: Int64
  public let email: String?

  /// Creates a customer.
  public init(id: Int64, email: String? = nil) {
    self.id = id
    self.email = email
  }
}
