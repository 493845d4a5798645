public import Configuration
import HTTP
public import HTTP2
import HTTPClient

extension HTTP2Client {
  /// Creates a client for Apple, as the settings want it.
  public convenience init(_ settings: AppStoreSettings) {
    var configuration = HTTPClientConfiguration()
    configuration.caFile = settings.caFile
    configuration.maxConnectionsPerHost = settings.maxConnections
    self.init(configuration, fallback: HTTPClient(configuration))
  }
}
