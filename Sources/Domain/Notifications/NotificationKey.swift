public import Formats

/// The name of a notification in the ledger.
public struct NotificationKey: Sendable, Hashable {
  public let publisherId: Int64
  public let uuid: ExactText

  /// Creates a name.
  public init(publisherId: Int64, uuid: String) { (self.publisherId, self.uuid) = (publisherId, uuid.exact) }
}
