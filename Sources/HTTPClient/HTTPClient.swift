public import EventLoop

/// An HTTP client over libcurl's multi interface, on the process's loop: HTTP/2, multiplexed, connections reused.
@LoopActor
public final class HTTPClient {
  /// Limits and trust of one client.
  public struct Configuration: Sendable {
    /// A PEM file of certificate authorities instead of the system's.
    public var caFile: String?
    /// The `User-Agent` of every request.
    public var userAgent = "countersign"
    /// Connections per host; further requests wait or share a connection by HTTP/2.
    public var maxConnectionsPerHost = 4
    /// Time for DNS, TCP and TLS together.
    public var connectTimeout: Duration = .seconds(5)
    /// Whether `http://` is allowed beside `https://`.
    public var allowsPlainHTTP = false

    /// Creates a configuration with the defaults above.
    public init() {}
  }

  let configuration: Configuration

  /// Creates a client that is ready for requests.
  public init(_ configuration: Configuration = Configuration()) {
    self.configuration = configuration
  }

  /// Sends a request and returns the whole answer, whatever its status; redirects are not followed.
  ///
  /// - Throws: ``HTTPClientError``.
  public func send(_ request: HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientResponse {
    throw HTTPClientError(code: .unreachable, target: request.url, cause: "being written")
  }

  /// Ends all requests with ``HTTPClientError/Code/cancelled`` and closes the connections.
  public func close() {}
}
