import Crypto
public import EventLoop
import Formats
import Glibc
public import HTTP

/// An HTTP/2 client over nghttp2 and OpenSSL on the process's loop.
///
/// It is for the one server that gets nearly all requests of a worker (decision 0016). Another client takes the
/// requests that this one cannot send: HTTP/1.1, proxies, and all URLs other than `https`.
@LoopActor
public final class HTTP2Client: HTTPSender {
  private let configuration: HTTPClientConfiguration
  private let fallback: any HTTPSender
  private let hasProxy: Bool
  private let scratch = Scratch()
  private var context: TLSClientContext?
  private var origins: [Substring: HTTP2Origin] = [:]
  /// Every request until its caller has an answer, wherever the request is. Only this list decides whether a request
  /// may end.
  private var underWay: [ObjectIdentifier: (call: HTTP2Call, origin: HTTP2Origin)] = [:]
  private var expiry: LoopTimer?
  private var nextDeadline: ContinuousClock.Instant?
  private var isClosed = false

  /// Creates a client that is ready for requests. It opens connections as it needs them.
  ///
  /// - Parameter fallback: takes the requests that this client cannot send. Closing this client closes it too.
  public init(_ configuration: HTTPClientConfiguration, fallback: any HTTPSender) {
    self.configuration = configuration
    self.fallback = fallback
    // These are the names that libcurl knows (libcurl-env(3)).
    hasProxy = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains { (name: String) in
      getenv(name).map { $0.pointee != 0 } ?? false
    }
    expiry = LoopTimer { [weak self] in self?.expire() }
  }

  /// Sends a request and returns the whole answer with any status. It does not follow redirects.
  ///
  /// The client sends a request a second time in two cases. The server said that it had not processed the request. Or
  /// the server had closed the connection before the client wrote the request to it.
  ///
  /// - Throws: ``HTTPClientError``.
  public func send(_ request: HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientResponse {
    guard let (call, origin) = try prepare(request) else { return try await fallback.send(request) }
    switch await ending(of: call, at: origin) {
    case .answered(let response): return response
    case .failed(let error): throw error
    case .needsHTTP1:
      var rest = request
      rest.timeout = max(.milliseconds(1), call.deadline - .now)
      return try await fallback.send(rest)
    }
  }

  /// Returns the call and its server; `nil` for a request that the fallback must send.
  private func prepare(_ request: HTTPClientRequest) throws(HTTPClientError) -> (HTTP2Call, HTTP2Origin)? {
    guard let url = HTTP2URL(request.url), isOwn(request), let origin = try origin(of: url, request), !origin.needsHTTP1
    else { return nil }
    return (HTTP2Call(request, url), origin)
  }

  private func ending(of call: HTTP2Call, at origin: HTTP2Origin) async -> HTTP2Call.Ending {
    underWay[ObjectIdentifier(call)] = (call, origin)
    defer { underWay[ObjectIdentifier(call)] = nil }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        call.wait(waiter)
        guard !isClosed, !Task.isCancelled else {
          return call.fail(.cancelled, isClosed ? "the client is closed" : "cancelled")
        }
        wake(by: call.deadline)
        origin.send(call)
      }
    } onCancel: {
      Task { @LoopActor in origin.end(call, .cancelled, "cancelled") }
    }
  }

  /// How many requests are under way.
  public var inFlight: Int { fallback.inFlight + underWay.count }

  /// How many HTTP/2 connections are open or opening.
  public var connectionCount: Int { origins.values.reduce(0) { $0 + $1.connectionCount } }

  /// Ends all requests with ``HTTPClientError/Code/cancelled`` and closes the connections.
  public func close() {
    guard !isClosed else { return }
    isClosed = true
    for origin in origins.values { origin.close() }
    expiry?.close()
    expiry = nil
    fallback.close()
  }

  /// Whether the request needs no feature that only the fallback has.
  private func isOwn(_ request: HTTPClientRequest) -> Bool {
    !hasProxy && !request.trustsAnyCertificate && !request.cutsLongResponse && configuration.allowsAddress == nil
      && configuration.keepsConnections
  }

  private func origin(of url: HTTP2URL, _ request: HTTPClientRequest) throws(HTTPClientError) -> HTTP2Origin? {
    if let known = origins[url.authority] { return known }
    guard let address = url.address else { return nil }
    do throws(CryptoError) {
      if context == nil {
        context = try TLSClientContext(caFile: configuration.caFile, applicationProtocols: ["h2", "http/1.1"])
      }
    } catch {
      throw HTTPClientError(code: .tls, target: "\(request.method) \(url.authority)", cause: "\(error)")
    }
    let origin = HTTP2Origin(address.host, address.port, configuration, context!, scratch)
    // The key is a string of its own: otherwise it would keep the whole URL in memory.
    origins[Substring(String(url.authority))] = origin
    return origin
  }

  // MARK: Deadlines

  // One timer serves all requests, since nearly every request ends long before its deadline.

  private func wake(by deadline: ContinuousClock.Instant) {
    if let nextDeadline, nextDeadline <= deadline { return }
    nextDeadline = deadline
    expiry?.start(after: deadline - .now)
  }

  private func expire() {
    nextDeadline = nil
    let now = ContinuousClock.now
    for (call, origin) in underWay.values where call.deadline <= now {
      origin.end(call, .timeout, "no answer within \(call.request.timeout.wholeMilliseconds) ms")
    }
    if let next = underWay.values.lazy.filter({ !$0.call.hasEnded }).map(\.call.deadline).min() { wake(by: next) }
  }
}
