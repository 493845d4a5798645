/// The name of a notification in the ledger.
public struct NotificationKey: Sendable, Hashable {
  public let publisherId: PublisherId
  public let uuid: NotificationUUID

  /// Creates a name.
  public init(publisherId: PublisherId, uuid: NotificationUUID) { (self.publisherId, self.uuid) = (publisherId, uuid) }
}
