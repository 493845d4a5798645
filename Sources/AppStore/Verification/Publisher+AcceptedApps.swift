public import Domain

extension Publisher {
  /// The publisher's apps in their environments, whose signed data it accepts.
  ///
  /// - Parameter bundleId: only this app; `nil` for all.
  public func acceptedApps(bundleId: BundleId? = nil) -> AcceptedApps {
    AcceptedApps(acceptedAppList.filter { app in bundleId.map { $0 == app.bundleId } ?? true })
  }

  /// The same as a list.
  public var acceptedAppList: [AcceptedApps.App] {
    apps.map { app in
      AcceptedApps.App(
        bundleId: app.bundleId, appAppleId: app.appAppleId,
        environments: Set(app.environments))
    }
  }
}

extension PublisherApps {
  /// Takes the apps of publishers.
  public init(of publishers: [Publisher]) {
    self.init(
      publishers.flatMap { publisher in publisher.acceptedAppList.map { Listed(publisherId: publisher.id, $0) } })
  }
}
