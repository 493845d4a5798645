public import HTTP

extension HTTPClientConfiguration {
  /// The configuration of a test's own client: it waits for a connection as long as a busy machine may need.
  public static var patient: HTTPClientConfiguration {
    var configuration = HTTPClientConfiguration()
    configuration.connectTimeout = .seconds(300)
    return configuration
  }
}
