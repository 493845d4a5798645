public import AppStore
public import Configuration
import EventLoop
public import HTTP2

extension AppStoreServerAPI.Configuration {
  /// What the settings say about Apple's API; the rest has its defaults.
  package init(_ settings: AppStoreSettings) {
    self.init()
    productionURL = settings.productionURL
    sandboxURL = settings.sandboxURL
    timeout = settings.timeout
    maxResponseBytes = settings.maxResponseBytes
  }
}

extension AppStoreServerAPI {
  /// A person waits, so a call has no longer.
  private nonisolated static let longestCall = Duration.seconds(10)

  /// Creates the API for a person who waits: a call takes ten seconds at most.
  ///
  /// - Parameter now: milliseconds since 1970.
  public convenience init(
    awaited settings: AppStoreSettings, _ apple: HTTP2Client, now: @escaping @Sendable () -> Int64
  ) {
    var configuration = AppStoreServerAPI.Configuration(settings)
    configuration.timeout = min(configuration.timeout, Self.longestCall)
    self.init(configuration, client: apple, now: now)
  }
}
