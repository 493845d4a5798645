import CPQ
import EventLoop
import Formats
import Glibc

/// One connection to PostgreSQL over libpq's non-blocking interface, always in pipeline mode.
///
/// A trip is its queries and one Sync. The server answers in order, so many trips can be under way.
@LoopActor
final class PostgresConnection {
  /// Host and port.
  let target: String
  /// The reason why the connection ended; `nil` while it is open.
  private(set) var failure: PostgresError?
  /// The connection calls this when a trip has ended, and when it has ended itself.
  var onProgress: (@LoopActor () -> Void)?

  /// The number of the process that serves this connection, as the other side told it.
  private(set) var announcedProcess: Int32 = 0
  /// The server's timeline at the opening; `nil` if it is unknown.
  var timeline: PostgresTimeline?

  private let endpoint: PostgresEndpoint
  private var handle: OpaquePointer?
  private var watcher: DescriptorWatcher?
  private var deadline: LoopTimer?
  private var connectWaiter: CheckedContinuation<Void, Never>?
  private var endWaiters: [CheckedContinuation<PostgresError, Never>] = []
  /// The trips that wait for replies.
  private var trips = WaitingLine<PostgresTrip>()
  /// The replies that are to come.
  private var expected = WaitingLine<Expected>()
  /// Ends of a reply that came where an answer to a Sync should come.
  private var unexpected = 0
  /// When the oldest trip became the oldest.
  private var waitingSince = ContinuousClock.now
  private var prepared = PreparedStatements()
  private var outgoing = ParameterBuffer()
  private var notices: UnsafeMutablePointer<countersign_pq_notices>?

  private enum Expected {
    case prepared(String)
    case result
    case sync
  }

  /// The trips under way.
  var underWay: Int { trips.count }
  /// Whether it is open and has few enough trips under way. What waits longer can still go to another connection.
  var takesMore: Bool { failure == nil && trips.count < 200 }

  /// Connects to one address.
  ///
  /// - Throws: ``PostgresError``, also for a server that takes no writes.
  static func open(
    _ endpoint: PostgresEndpoint, _ server: ServerAddress, address: String
  ) async throws(PostgresError) -> PostgresConnection {
    let connection = PostgresConnection(endpoint, target: server.description)
    let version = PQlibVersion()
    guard endpoint.caFile == nil || LibraryVersion.isSafeWithTLS(version) else {
      let cause =
        "libpq \(LibraryVersion.text(version)) can miss replies over TLS: install libpq 15.19, or a later version of "
        + "August 2026"
      throw PostgresError(.unreachable, operation: "connect", target: connection.target, cause: cause)
    }
    try await connection.connect(
      ConnectParameters.parameters(endpoint, server, address: address, libraryVersion: version))
    return connection
  }

  private init(_ endpoint: PostgresEndpoint, target: String) {
    self.endpoint = endpoint
    self.target = target
  }

  private func connect(_ parameters: [(name: String, value: String)]) async throws(PostgresError) {
    guard let handle = start(parameters) else {
      throw PostgresError(.unreachable, operation: "connect", target: target, cause: "out of memory")
    }
    self.handle = handle
    let notices = UnsafeMutablePointer<countersign_pq_notices>.allocate(capacity: 1)
    notices.initialize(to: countersign_pq_notices())
    self.notices = notices
    countersign_pq_receive_notices(handle, notices)
    // The five-letter code of a refusal is in no field that libpq shows. It is in the verbose text.
    PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
    guard PQstatus(handle) != CONNECTION_BAD else {
      end(.unreachable, "connect", refusal)
      throw failure!
    }
    let limit = LoopTimer { [weak self] in self?.end(.unreachable, "connect", "no connection in time") }
    limit.start(after: endpoint.connectTimeout)
    defer { limit.close() }
    await withCheckedContinuation { waiter in
      connectWaiter = waiter
      watchConnecting(.writable)
    }
    if let failure { throw failure }
    let timer = LoopTimer { [weak self] in self?.checkDeadline() }
    timer.start(after: .milliseconds(250), every: .milliseconds(250))
    deadline = timer
  }

  private func start(_ parameters: [(name: String, value: String)]) -> OpaquePointer? {
    let names = parameters.map { strdup($0.name) }
    let values = parameters.map { strdup($0.value) }
    defer { for text in names + values { free(text) } }
    let namePointers = names.map { UnsafePointer<CChar>($0) } + [nil]
    let valuePointers = values.map { UnsafePointer<CChar>($0) } + [nil]
    return PQconnectStartParams(namePointers, valuePointers, 0)
  }

  /// Watches the socket for one step of the connection. libpq may open another socket at each step.
  private func watchConnecting(_ readiness: Readiness) {
    guard let handle else { return }
    do {
      let watcher = try DescriptorWatcher(descriptor: PQsocket(handle)) { [weak self] _ in self?.poll() }
      watcher.watch(readiness)
      self.watcher = watcher
    } catch {
      end(.unreachable, "connect", "\(error)")
    }
  }

  private func poll() {
    guard let handle else { return }
    watcher?.close()
    watcher = nil
    switch PQconnectPoll(handle) {
    case PGRES_POLLING_READING: watchConnecting(.readable)
    case PGRES_POLLING_WRITING: watchConnecting(.writable)
    case PGRES_POLLING_OK: connected(handle)
    default: end(.unreachable, "connect", refusal)
    }
  }

  private func connected(_ handle: OpaquePointer) {
    PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
    guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
      return end(.unreachable, "connect", message)
    }
    announcedProcess = PQbackendPID(handle)
    do {
      let watcher = try DescriptorWatcher(descriptor: PQsocket(handle)) { [weak self] in self?.ready($0) }
      watcher.watch(.readable)
      self.watcher = watcher
    } catch {
      return end(.unreachable, "connect", "\(error)")
    }
    connectWaiter?.resume()
    connectWaiter = nil
  }

  /// Runs queries of a transaction in one trip, and returns after the answer to its Sync.
  func run(_ queries: [PostgresQuery]) async throws -> [PostgresRows] {
    try await withCheckedThrowingContinuation { waiter in
      send(PostgresTrip(queries, isWhole: false, waiter))
      flush()
    }
  }

  /// Sends a trip. The caller flushes.
  func send(_ trip: PostgresTrip) {
    guard let handle, failure == nil else {
      return trip.end(
        throwing: failure ?? PostgresError(.unreachable, operation: "send", target: target, cause: "not connected"))
    }
    if trips.isEmpty { waitingSince = .now }
    trips.append(trip)
    // All statements are prepared before the first query: a query that fails makes the server skip the rest.
    let isSent =
      trip.queries.allSatisfy { prepare($0, handle) } && trip.queries.allSatisfy { send($0, handle) }
      && countersign_pq_sync(handle) == 1
    expected.append(.sync)
    if !isSent { end(.connectionLost, trip.operation, message) }
  }

  private func prepare(_ query: PostgresQuery, _ handle: OpaquePointer) -> Bool {
    guard prepared.serverName(of: query) == nil else { return true }
    let types = query.parameters.map(\.type)
    let name = prepared.add(query, types)
    expected.append(.prepared(query.statement.name))
    return PQsendPrepare(handle, name, query.statement.sql, Int32(types.count), types) == 1
  }

  private func send(_ query: PostgresQuery, _ handle: OpaquePointer) -> Bool {
    guard let name = prepared.serverName(of: query) else { return false }
    expected.append(.result)
    return outgoing.withParameters(query.parameters) { count, values, lengths, formats in
      PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
    } == 1
  }

  /// Writes what libpq has collected.
  func flush() {
    guard let handle else { return }
    switch PQflush(handle) {
    case 0: watcher?.watch(.readable)
    // The server may read no more before we read its replies.
    case 1: watcher?.watch([.readable, .writable])
    default: receive()
    }
  }

  private func ready(_ readiness: Readiness) {
    if readiness.contains(.readable) { receive() }
    if readiness.contains(.writable) { flush() }
  }

  private func receive() {
    guard let handle else { return }
    let isOpen = PQconsumeInput(handle) == 1
    takeReplies()
    // The last replies may come together with the end.
    if !isOpen { end(.connectionLost, operation, message) }
  }

  /// Takes the replies that have come whole.
  private func takeReplies() {
    while let handle, let next = expected.first, PQisBusy(handle) == 0 {
      guard let reply = PQgetResult(handle) else {
        if PQstatus(handle) == CONNECTION_BAD { return }
        ended(next)
        continue
      }
      let status = PQresultStatus(reply)
      switch status {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
        let result = PostgresResult(reply, operation: operation, target: target)
        if case .result = next { trips.first?.received(PostgresRows(result: result)) }
      case PGRES_PIPELINE_SYNC:
        PQclear(reply)
        synchronized()
      default:
        refused(next, status == PGRES_PIPELINE_ABORTED ? nil : reply)
        PQclear(reply)
      }
    }
  }

  /// A reply has ended. An answer to a Sync has no end, but an error at the commit that the Sync does has one.
  private func ended(_ reply: Expected) {
    if case .sync = reply {
      unexpected += 1
      // libpq has lost count, or we have.
      if unexpected > 3 { end(.connectionLost, operation, "the reply to a Sync is missing") }
    } else {
      _ = expected.removeFirst()
    }
  }

  /// The server refused a command, or skips it after a refusal (without `error`).
  private func refused(_ reply: Expected, _ error: OpaquePointer?) {
    if case .prepared(let name) = reply { prepared.forget(name) }
    guard let error, let trip = trips.first else { return }
    let operation = if case .prepared(let name) = reply { name } else { trip.operation }
    let failure = PostgresError(error, operation: operation, target: target)
    // After a fatal error the server hangs up; libpq's own errors mean that it has.
    if PostgresError.isFatal(error) { return end(.connectionLost, operation, failure.cause) }
    trip.failed(failure)
  }

  /// The server has committed a trip, or rolled it back.
  private func synchronized() {
    guard case .sync? = expected.first, let trip = trips.first else {
      return end(.connectionLost, operation, "the reply to a Sync came too early")
    }
    _ = expected.removeFirst()
    _ = trips.removeFirst()
    unexpected = 0
    waitingSince = .now
    if let cause = unreplicated {
      // The commit counts here, and perhaps not on the next primary. Another connection looks whether commits hang.
      let failure = PostgresError(.connectionLost, operation: trip.operation, target: target, cause: cause)
      trip.end(throwing: failure)
      return end(failure.code, failure.operation, cause)
    }
    if trip.failure?.isAboutPreparation == true {
      prepared.forget(trip.queries)
      if trip.isWhole, !trip.isSecondTry {
        trip.beginAgain()
        send(trip)
        return flush()
      }
    }
    trip.end()
    // The server has become a standby. The new primary may have another address.
    if trip.failure?.isReadOnly == true { end(.connectionLost, "receive", "the server takes no writes") }
    onProgress?()
  }

  /// Why the last commit did not wait for its standby; `nil` if it did, or had none to wait for.
  private var unreplicated: String? {
    guard let notices, notices.pointee.unreplicated.0 != 0 else { return nil }
    return withUnsafeBytes(of: &notices.pointee.unreplicated) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  private func checkDeadline() {
    guard !trips.isEmpty, ContinuousClock.now - waitingSince > endpoint.replyTimeout else { return }
    end(.timeout, operation, "no reply in \(endpoint.replyTimeout)")
  }

  /// What waits for the oldest reply.
  private var operation: String { trips.first?.operation ?? "receive" }

  private var message: String { PostgresError.oneLine(PQerrorMessage(handle)) }

  /// libpq's text for a connection that could not be opened, with the server's code behind it.
  private var refusal: String { ConnectRefusal.withCode(PostgresError.oneLine(PQerrorMessage(handle))) }

  /// Waits until the connection has ended, and returns why.
  func ended() async -> PostgresError {
    if let failure { return failure }
    return await withCheckedContinuation { endWaiters.append($0) }
  }

  /// Ends the connection.
  func close(_ code: PostgresError.Code, because cause: String) { end(code, "close", cause) }

  private func end(_ code: PostgresError.Code, _ operation: String, _ cause: String) {
    guard failure == nil else { return }
    let failure = PostgresError(code, operation: operation, target: target, cause: cause)
    self.failure = failure
    deadline?.close()
    deadline = nil
    // The number of the descriptor is free for others as soon as libpq has closed it.
    watcher?.close()
    watcher = nil
    if let handle { PQfinish(handle) }
    handle = nil
    notices?.deallocate()
    notices = nil
    connectWaiter?.resume()
    connectWaiter = nil
    _ = expected.removeAll()
    for trip in trips.removeAll() { trip.end(throwing: failure) }
    for waiter in endWaiters { waiter.resume(returning: failure) }
    endWaiters.removeAll()
    onProgress?()
  }
}
