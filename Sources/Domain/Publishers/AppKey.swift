/// Names an app of a publisher. Several publishers may have one app; each has its own purchases of it.
public struct AppKey: Hashable, Sendable {
  public let publisherId: PublisherId
  public let bundleId: BundleId

  /// Names an app.
  public init(publisherId: PublisherId, bundleId: BundleId) {
    self.publisherId = publisherId
    self.bundleId = bundleId
  }
}
