package import AppStore
package import Configuration

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
