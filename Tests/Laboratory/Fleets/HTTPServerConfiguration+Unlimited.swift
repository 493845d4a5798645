public import HTTPServer

extension HTTPServer.Configuration {
  /// For a server of tests, in which one client may take all that there is.
  public static var unlimited: Self {
    Self(maxConnectionsPerAddress: .max, largeBodyShares: .init(ofPublisher: 1, ofAddress: 1))
  }
}
