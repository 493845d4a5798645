public import EventLoop

/// A PostgreSQL that comes back: a few connections. The client opens each of them again, with a growing delay.
@LoopActor
public final class PostgresClient {
  /// The changes of a client's connections.
  public enum Change: Sendable {
    /// The client can run work.
    case connected
    /// A connection has ended, or the client could not open one. If another one is left, ``connected`` follows at once.
    case lost(PostgresError, retryIn: Duration)
  }

  private let endpoint: @LoopActor () -> PostgresEndpoint
  private let onChange: @LoopActor (Change) -> Void
  private let size: Int
  private var connections: [PostgresConnection] = []
  /// The connections that belong to a transaction now.
  private var taken: Set<ObjectIdentifier> = []
  private var running: [Task<Void, Never>] = []
  private var isStopping = false
  private var lastFailure: PostgresError?
  /// The newest timeline of all connections so far.
  private var newest: PostgresTimeline?
  private var waiting = WaitingLine<Work>()
  private lazy var dispatchLater = EndOfTurn { [weak self] in self?.dispatch() }

  private enum Work {
    case trip(PostgresTrip)
    case transaction(CheckedContinuation<PostgresConnection, any Error>)
  }

  /// Creates a client of an endpoint that stays the same. Nothing happens before ``start()``.
  public convenience init(
    _ endpoint: PostgresEndpoint, connections: Int = 2, onChange: @escaping @LoopActor (Change) -> Void = { _ in }
  ) {
    self.init({ endpoint }, connections: connections, onChange: onChange)
  }

  /// Creates a client. Nothing happens before ``start()``.
  ///
  /// - Parameter endpoint: the client asks for it at each opening of a connection.
  public init(
    _ endpoint: @escaping @LoopActor () -> PostgresEndpoint, connections: Int = 2,
    onChange: @escaping @LoopActor (Change) -> Void = { _ in }
  ) {
    self.endpoint = endpoint
    size = connections
    self.onChange = onChange
  }

  /// Whether the client can run work now.
  public var isReady: Bool { !isStopping && connections.contains { $0.failure == nil } }

  /// Why the client is not ready; `nil` if it is.
  public var failure: PostgresError? {
    if isStopping { return error(.closed, "connect", "the client was stopped") }
    if isReady { return nil }
    // A connection that has just ended is still in the list.
    let cause = connections.lazy.compactMap(\.failure).first ?? lastFailure
    return cause ?? error(.unreachable, "connect", "no connection yet")
  }

  /// Starts to connect. A second call does nothing.
  public func start() {
    guard running.isEmpty, !isStopping else { return }
    running = (0..<size).map { place in Task { @LoopActor in await keepConnection(tells: place == 0) } }
  }

  /// Closes the connections and opens no more. A caller may call it without a start, and twice.
  public func stop() async {
    isStopping = true
    for task in running { task.cancel() }
    for connection in connections { connection.close(.connectionLost, because: "closed by us") }
    for task in running { await task.value }
    running = []
    failWaiting()
  }

  /// Runs one transaction in one trip, and returns after its commit.
  ///
  /// - Throws: ``PostgresError``.
  public func run(_ queries: [PostgresQuery]) async throws -> [PostgresRows] {
    if let failure { throw unsent(failure) }
    guard !queries.isEmpty else { return [] }
    let keepsPlans = queries.contains(where: \.statement.isByKeys)
    let sent = keepsPlans ? [.keepPlans] + queries : queries
    let rows = try await withCheckedThrowingContinuation { waiter in
      waiting.append(.trip(PostgresTrip(sent, isWhole: true, waiter)))
      dispatchLater.plan()
    }
    return keepsPlans ? Array(rows.dropFirst()) : rows
  }

  /// Runs one query as a transaction.
  ///
  /// - Throws: ``PostgresError``.
  public func run(_ query: PostgresQuery) async throws -> PostgresRows { try await run([query])[0] }

  /// Runs one transaction in several trips on a connection of its own.
  ///
  /// It commits when `body` returns, and rolls back when `body` throws.
  ///
  /// - Throws: ``PostgresError``, or the error of `body`.
  public func transaction<R>(_ body: @LoopActor (PostgresTransaction) async throws -> R) async throws -> R {
    if let failure { throw unsent(failure) }
    let connection = try await withCheckedThrowingContinuation { waiter in
      waiting.append(.transaction(waiter))
      dispatchLater.plan()
    }
    defer {
      taken.remove(ObjectIdentifier(connection))
      dispatchLater.plan()
    }
    let transaction = PostgresTransaction(connection)
    do {
      let value = try await body(transaction)
      try await transaction.end()
      return value
    } catch {
      await transaction.rollBack()
      throw error
    }
  }

  /// Gives the waiting work to connections, in its order.
  ///
  /// A trip goes behind the trips that are under way. A transaction goes behind them too, and keeps its connection.
  private func dispatch() {
    while let next = waiting.first, let connection = freest() {
      switch next {
      case .transaction(let waiter):
        _ = waiting.removeFirst()
        taken.insert(ObjectIdentifier(connection))
        waiter.resume(returning: connection)
      case .trip:
        while connection.takesMore, case .trip(let trip)? = waiting.first {
          _ = waiting.removeFirst()
          connection.send(trip)
        }
        connection.flush()
      }
    }
  }

  /// The connection with the fewest trips under way, among the ones that take more.
  private func freest() -> PostgresConnection? {
    var freest: PostgresConnection?
    for connection in connections where connection.takesMore {
      guard taken.isEmpty || !taken.contains(ObjectIdentifier(connection)) else { continue }
      if connection.underWay < freest?.underWay ?? .max { freest = connection }
    }
    return freest
  }

  /// Opens a connection, and opens it again whenever it has ended.
  ///
  /// - Parameter tells: whether this connection tells that there is none at all; one of them is enough.
  private func keepConnection(tells: Bool) async {
    var backoff = Backoff()
    while !isStopping {
      var failure: PostgresError
      var wasOpen = false
      do {
        let connection = try await PostgresConnection.open(endpoint(), newest: newest)
        backoff = Backoff()
        wasOpen = true
        failure = await use(connection)
      } catch {
        failure = error as? PostgresError ?? self.error(.unreachable, "connect", "\(error)")
      }
      lastFailure = failure
      if !isReady { failWaiting() }
      guard !isStopping else { return }
      let delay = backoff.next()
      if wasOpen || (tells && !isReady) {
        onChange(.lost(failure, retryIn: delay))
        // When this one is open again, there is no change to tell.
        if isReady { onChange(.connected) }
      }
      try? await EventLoop.sleep(for: delay)
    }
  }

  /// Gives work to a connection until it ends, and returns why it did.
  private func use(_ connection: PostgresConnection) async -> PostgresError {
    if isStopping { connection.close(.closed, because: "closed by us") }
    connection.onProgress = { [weak self] in self?.dispatchLater.plan() }
    let wasReady = isReady
    connections.append(connection)
    leaveReplacedServers(connection.timeline)
    if !wasReady, isReady { onChange(.connected) }
    // What waits because a transaction holds each other connection would wait for its end.
    dispatchLater.plan()
    let failure = await connection.ended()
    connections.removeAll { $0 === connection }
    return failure
  }

  /// Closes the connections to a server in whose place another one was promoted. It may still answer, with old data.
  func leaveReplacedServers(_ timeline: PostgresTimeline?) {
    if let timeline, newest.map({ $0.system != timeline.system || $0.isReplaced(by: timeline) }) ?? true {
      newest = timeline
    }
    guard let newest else { return }
    for connection in connections {
      guard let timeline = connection.timeline, timeline.isReplaced(by: newest) else { continue }
      connection.close(.connectionLost, because: timeline.refusal(connection.target, newest: newest))
    }
  }

  private func failWaiting() {
    guard let failure else { return }
    for work in waiting.removeAll() {
      switch work {
      case .trip(let trip): trip.end(throwing: unsent(failure))
      case .transaction(let waiter): waiter.resume(throwing: unsent(failure))
      }
    }
  }

  /// The error of work that the client did not send.
  private func unsent(_ failure: PostgresError) -> PostgresError {
    error(isStopping ? .closed : .unreachable, "send", failure.cause)
  }

  private func error(_ code: PostgresError.Code, _ operation: String, _ cause: String) -> PostgresError {
    PostgresError(code, operation: operation, target: endpoint().description, cause: cause)
  }
}
