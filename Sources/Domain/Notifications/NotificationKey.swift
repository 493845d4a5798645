/// The name of a notification in the ledger.
public struct NotificationKey: Sendable, Hashable {
  public let publisherId: Int64
  public let uuid: NotificationUUID

  /// Creates a name.
  public init(publisherId: Int64, uuid: NotificationUUID) { (self.publisherId, self.uuid) = (publisherId, uuid) }
}
