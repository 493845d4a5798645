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
  /// The addresses from the last successful look-up of the name.
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

  /// Whether the server is known not to speak HTTP/2. The origin asks again after ten minutes, since the server may
  /// learn it.
  var needsHTTP1: Bool { usesHTTP1Until.map { $0 > .now } ?? false }

  /// How many connections are open or opening.
  var connectionCount: Int { connections.count }

  /// Sends a request as soon as a connection takes it, with all others of this turn of the loop.
  func send(_ call: HTTP2Call) {
    waiting.append(call)
    dispatchLater.plan()
  }

  /// Sends a request again, once, that the server has not processed.
  func sendAgain(_ call: HTTP2Call, else cause: String) {
    guard !isClosed else { return call.fail(.cancelled, "the client is closed") }
    guard call.takeBackOnce() else { return call.fail(.interrupted, cause) }
    waiting.append(call)
  }

  /// Gives waiting requests to the connections that have room, and opens more connections if necessary.
  func dispatch() {
    // If a connection fails while it gets a request, it calls this function again.
    guard !isDispatching, !waiting.isEmpty else { return }
    dispatchLater.forget()
    isDispatching = true
    defer { isDispatching = false }
    for connection in connections where connection.isStale { connection.end() }
    // This comes before the first request is given away. Requests can then wait for an opening connection, so fewer of
    // them share the open ones.
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
    // The timer fires even if nothing else happens. Then the origin may open a connection again, or the requests that
    // wait for a connection which does not open go to the others. It waits a millisecond more, since timers know no
    // fractions of one.
    let pause = opensAfter - .now
    retry?.start(after: (pause > .zero ? pause : HTTP2ClientConnection.usualOpening) + .milliseconds(1))
  }

  /// Returns the first connection that has few requests.
  ///
  /// So the first connections fill up first, and the requests of one turn of the loop go out together. If all
  /// connections have many requests, it returns the connection with the fewest, unless another connection is about to
  /// open.
  private func connectionWithRoom() -> HTTP2ClientConnection? {
    var fewest: HTTP2ClientConnection?
    var isWorthWaiting = false
    for connection in connections {
      isWorthWaiting = isWorthWaiting || connection.isAboutToOpen
      let inFlight = connection.inFlight
      guard inFlight < fewest?.inFlight ?? .max, connection.room > 0, connection.hasSettings || inFlight < knownLimit
      else {
        continue
      }
      if inFlight < requestsPerConnection { return connection }
      fewest = connection
    }
    return isWorthWaiting ? nil : fewest
  }

  /// How many requests the server takes at a time, as far as its connections have said it. One whose settings have not
  /// come takes no more: the server would refuse the rest.
  private var knownLimit: Int {
    connections.lazy.filter { $0.hasSettings && !$0.isDraining }.map(\.limit).min() ?? .max
  }

  private func openMore() {
    var (usable, each) = (0, requestsPerConnection)
    var requests = waiting.count { !$0.hasEnded }
    // A connection that takes no further requests does not help the waiting ones, even if it still has many.
    for connection in connections where !connection.isDraining {
      usable += 1
      requests += connection.inFlight
      // A server that takes fewer requests at a time needs more connections.
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

  /// Looks up the server's name, once for all connections that ask meanwhile.
  ///
  /// Otherwise a silent name server would keep the threads from all other look-ups. If a look-up fails, the result of
  /// the last one counts.
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

  // MARK: Reports of connections

  /// A connection has closed.
  func forget(_ connection: HTTP2ClientConnection) {
    connections.removeAll { $0 === connection }
  }

  /// A connection could not be opened. The requests wait for the other connections; without any, they all fail.
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
    // The end of the request may have made room.
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

/// The most requests on a connection before another one opens. More answers than this must not wait behind one lost
/// packet.
private let requestsPerConnection = 100
