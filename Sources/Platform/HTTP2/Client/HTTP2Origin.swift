import Crypto
import EventLoop
import HTTP

/// One server: the connections to it, and the requests that wait for one.
@LoopActor
final class HTTP2Origin {
  private let host: String
  private let port: Int
  private let configuration: HTTPClientConfiguration
  private let context: TLSClientContext
  private let scratch: Scratch
  private var connections: [HTTP2ClientConnection] = []
  private var waiting: [HTTP2Call] = []
  private var usesHTTP1Until: ContinuousClock.Instant?
  private var opensAfter = ContinuousClock.now
  private var retry: LoopTimer?
  private var lookUp: Task<[String], any Error>?
  /// What the name led to when it was last known.
  private var addresses: [String] = []
  private lazy var dispatchLater = EndOfTurn { [weak self] in self?.dispatch() }
  private var isDispatching = false
  private var isClosed = false

  init(
    _ host: String, _ port: Int, _ configuration: HTTPClientConfiguration, _ context: TLSClientContext,
    _ scratch: Scratch
  ) {
    self.host = host
    self.port = port
    self.configuration = configuration
    self.context = context
    self.scratch = scratch
    retry = LoopTimer { [weak self] in self?.dispatch() }
  }

  /// Whether the server is known to speak no HTTP/2; asked again after ten minutes, for it may learn.
  var needsHTTP1: Bool { usesHTTP1Until.map { $0 > .now } ?? false }

  /// How many connections are open or being opened.
  var connectionCount: Int { connections.count }

  /// Sends a request as soon as a connection takes it, with all others of this turn of the loop.
  func send(_ call: HTTP2Call) {
    waiting.append(call)
    dispatchLater.plan()
  }

  /// Sends a request again that the server has not processed, once.
  func sendAgain(_ call: HTTP2Call, else cause: String) {
    guard !isClosed else { return call.fail(.cancelled, "the client is closed") }
    guard call.takeBackOnce() else { return call.fail(.interrupted, cause) }
    waiting.append(call)
  }

  /// Gives waiting requests to the connections that have room, and opens more where they are wanted.
  func dispatch() {
    // A connection that fails while it is given a request comes back here.
    guard !isDispatching, !waiting.isEmpty else { return }
    dispatchLater.forget()
    isDispatching = true
    defer { isDispatching = false }
    for connection in connections where connection.isStale { connection.end() }
    // Before any is given away: those that wait for a connection that is about to open share the others less.
    openMore()
    var taken = 0
    while taken < waiting.count {
      let call = waiting[taken]
      if !call.hasEnded {
        guard let connection = connectionWithRoom() else { break }
        guard connection.submit(call, userAgent: configuration.userAgent) else { break }
      }
      taken += 1
    }
    waiting.removeFirst(taken)
    guard !waiting.isEmpty else { return }
    // Whether anything else happens or not: a connection may be opened again, or those who wait for one that does not open
    // go to the others. A millisecond more, since timers know no fractions of one.
    let pause = opensAfter - .now
    retry?.start(after: (pause > .zero ? pause : HTTP2ClientConnection.usualOpening) + .milliseconds(1))
  }

  /// The first connection that has few requests: so the first ones fill up first, and what a turn of the loop asks goes out
  /// together. When all have many, that with the fewest, unless another one is about to open.
  private func connectionWithRoom() -> HTTP2ClientConnection? {
    var fewest: HTTP2ClientConnection?
    var isWorthWaiting = false
    for connection in connections {
      isWorthWaiting = isWorthWaiting || connection.isAboutToOpen
      let inFlight = connection.inFlight
      guard inFlight < fewest?.inFlight ?? .max, connection.room > 0 else { continue }
      if inFlight < requestsPerConnection { return connection }
      fewest = connection
    }
    return isWorthWaiting ? nil : fewest
  }

  private func openMore() {
    var (usable, each) = (0, requestsPerConnection)
    var requests = waiting.count { !$0.hasEnded }
    // One that takes no further requests is no help to those that wait, however many it still has.
    for connection in connections where !connection.isDraining {
      usable += 1
      requests += connection.inFlight
      // A server that takes fewer at a time needs more connections.
      let limit = connection.limit
      if limit > 0 { each = min(each, limit) }
    }
    let most = configuration.maxConnectionsPerHost
    guard usable < most, connections.count < 2 * most else { return }
    let wanted = min((requests + each - 1) / each, most) - usable
    guard wanted > 0, opensAfter <= .now else { return }
    for _ in 0..<wanted {
      let connection = HTTP2ClientConnection(self, scratch)
      connections.append(connection)
      connection.open(to: host, port, within: configuration.connectTimeout, context)
    }
  }

  /// Looks the server's name up, once for all connections that want to know it meanwhile: a name server that is silent would
  /// otherwise keep the threads from everybody else who looks something up. What was known before is good for when it fails.
  func resolve() async throws -> [String] {
    if lookUp == nil {
      lookUp = Task { @LoopActor in
        defer { lookUp = nil }
        return try await EventLoop.resolve(host)
      }
    }
    do {
      if let found = try await lookUp?.value { addresses = found }
    } catch {
      guard !addresses.isEmpty else { throw error }
    }
    return addresses
  }

  // MARK: What connections tell

  /// A connection has closed.
  func forget(_ connection: HTTP2ClientConnection) {
    connections.removeAll { $0 === connection }
  }

  /// A connection could not be opened. Who waits goes on to wait for the others; if there are none, it is everybody's failure.
  func openingFailed(_ code: HTTPClientError.Code, _ cause: String) {
    opensAfter = .now + .seconds(1)
    guard connections.isEmpty else { return dispatch() }
    for call in waiting { call.fail(code, cause) }
    waiting.removeAll()
  }

  /// The server did not agree to HTTP/2.
  func fallBackToHTTP1(_ connection: HTTP2ClientConnection) {
    usesHTTP1Until = .now + .seconds(600)
    for call in waiting { call.failForHTTP1() }
    waiting.removeAll()
    connection.close(.interrupted, "the server speaks no HTTP/2")
  }

  // MARK: Ending

  /// Ends a request whose caller waits no longer.
  func end(_ call: HTTP2Call, _ code: HTTPClientError.Code, _ cause: String) {
    guard !call.hasEnded else { return }
    let connection = call.connection
    call.fail(code, cause)
    connection?.cancel(call)
    if connection == nil { waiting.removeAll { $0 === call } }
    // There may be room now.
    dispatch()
  }

  /// Ends all requests with `cancelled` and closes the connections.
  func close() {
    isClosed = true
    retry?.close()
    retry = nil
    for call in waiting { call.fail(.cancelled, "the client is closed") }
    waiting.removeAll()
    for connection in connections { connection.end() }
    connections.removeAll()
  }
}

/// Requests that share a connection before another one is opened: so many answers behind one lost packet is enough.
private let requestsPerConnection = 100
