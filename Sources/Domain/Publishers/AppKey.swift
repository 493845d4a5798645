/// Names an app of a publisher. Several publishers may have one app; each has its own purchases of it.
public struct AppKey: Hashable, Sendable {
  public let publisherId: Int64
  public let bundleId: BundleId

  /// Names an app.
  public init(publisherId: Int64, bundleId: BundleId) {
    self.publisherId = publisherId
    self.bundleId = bundleId
  }
}
