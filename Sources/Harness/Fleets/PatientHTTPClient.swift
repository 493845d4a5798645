public import HTTP
public import HTTPClient

extension HTTPClient.Configuration {
  /// The configuration of a test's own client: it waits for a connection as long as a busy machine may need.
  public static var patient: HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration()
    configuration.connectTimeout = .seconds(30)
    return configuration
  }
}
