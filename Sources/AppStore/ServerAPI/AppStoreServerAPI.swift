import Domain
public import EventLoop
import FoundationEssentials
import HTTP
public import HTTP2
import JSON

/// Apple's App Store Server API: each function makes one call.
///
/// Retries, fallbacks and budgets are the caller's. The API does not verify the signed texts in the answers; give them
/// to ``SignedDataVerifier``.
@LoopActor
public final class AppStoreServerAPI {
  /// Apple's addresses and the limits of a call.
  public struct Configuration: Sendable {
    /// The base URL in production, without a slash at its end.
    public var productionURL = "https://api.storekit.apple.com"
    /// The base URL in the sandbox.
    public var sandboxURL = "https://api.storekit-sandbox.apple.com"
    /// Time for one call.
    public var timeout: Duration = .seconds(30)
    /// A longer answer is an error.
    public var maxResponseBytes = 1 << 20

    /// Creates a configuration with the defaults above.
    public init() {}
  }

  /// Sends one request; ``HTTP2Client/send(_:)`` outside of tests.
  typealias Transport = @LoopActor (HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientResponse

  private let configuration: Configuration
  private let transport: Transport
  private let now: @Sendable () -> Int64
  private var tokens: BearerTokens

  /// Creates the API over a client; `now` gives milliseconds since 1970.
  public convenience init(
    _ configuration: Configuration = Configuration(), client: HTTP2Client,
    now: @escaping @Sendable () -> Int64 = unixMilliseconds
  ) {
    self.init(configuration, now: now) { request throws(HTTPClientError) in try await client.send(request) }
  }

  init(_ configuration: Configuration, now: @escaping @Sendable () -> Int64, transport: @escaping Transport) {
    self.configuration = configuration
    self.transport = transport
    self.now = now
    tokens = BearerTokens()
  }

  // A function that does not suspend makes the request before a call, and another one reads the answer after it. A
  // function that suspends keeps memory for everything that it may need again, for each of the thousands of calls in
  // flight.

  /// A call that is ready to be sent.
  struct Request {
    let endpoint: AppStoreEndpoint
    let message: HTTPClientRequest
  }

  /// Makes a call whose answer is JSON.
  func answer<Body: Decodable & Sendable>(
    to request: Request, as type: Body.Type = Body.self
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<Body> {
    try Self.decoded(try await response(to: request), of: request.endpoint)
  }

  /// Makes a call whose answer has no body.
  func confirmation(of request: Request) async throws(AppStoreAPIError) -> AppleCorrelation {
    AppleCorrelation(try await response(to: request))
  }

  private func response(to request: Request) async throws(AppStoreAPIError) -> HTTPClientResponse {
    let response: HTTPClientResponse
    do {
      response = try await transport(request.message)
    } catch {
      throw AppStoreAPIError(.transport(error), endpoint: request.endpoint)
    }
    guard (200..<300).contains(response.status) else {
      throw AppStoreAPIError(response, endpoint: request.endpoint, now: now())
    }
    return response
  }

  private static func decoded<Body: Decodable & Sendable>(
    _ response: HTTPClientResponse, of endpoint: AppStoreEndpoint
  ) throws(AppStoreAPIError) -> AppStoreAnswer<Body> {
    let correlation = AppleCorrelation(response)
    guard let body = try? JSONText(response.body, limits: .answers).decoded(as: Body.self) else {
      throw AppStoreAPIError(.malformedAnswer, endpoint: endpoint, correlation: correlation)
    }
    return AppStoreAnswer(body: body, correlation: correlation)
  }

  func request(
    for call: AppStoreCall, in environment: Environment, of app: AppCredentials
  ) throws(AppStoreAPIError) -> Request {
    let base: String
    switch environment {
    case .production: base = configuration.productionURL
    case .sandbox: base = configuration.sandboxURL
    default:
      throw AppStoreAPIError(
        .invalidRequest("the environment \(environment.text.debugDescription) has no server"),
        endpoint: call.endpoint)
    }
    let authorization: String
    do {
      authorization = try tokens.authorization(for: app, now: now())
    } catch {
      throw AppStoreAPIError(.invalidRequest("\(error)"), endpoint: call.endpoint)
    }
    var headers = [(name: "Authorization", value: authorization), (name: "Accept", value: "application/json")]
    if call.body != nil { headers.append((name: "Content-Type", value: "application/json")) }
    return Request(
      endpoint: call.endpoint,
      message: HTTPClientRequest(
        call.method, base + call.target, headers: headers, body: call.body, timeout: configuration.timeout,
        maxResponseBytes: configuration.maxResponseBytes))
  }
}
