public import Domain

/// A row that this process cannot read. A newer process may have written it.
///
/// The error shows no value of the row: some rows hold secrets.
public struct UnreadableRecord: Error, Sendable, CustomStringConvertible {
  /// The record and the column, such as `the format of endpoint ep_1`.
  public let what: String
  /// Whose row it is. The description does not name the customer: a log line does, as `log.customers` says.
  public let customer: CustomerKey?

  init(_ what: String, customer: CustomerKey? = nil) { (self.what, self.customer) = (what, customer) }

  public var description: String { "\(what) cannot be read; perhaps a newer process wrote it" }
}
