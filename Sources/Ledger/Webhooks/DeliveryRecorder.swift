public import Domain
public import EventLoop
import Formats
public import Postgres

/// Writes what notifiers note about deliveries: one commit takes all of a turn of the loop.
///
/// While the ledger is away, the changes wait here, and their callers with them. The recorder tries again until the
/// ledger has them, so a caller that acknowledges its message after ``record(_:)`` loses nothing.
@LoopActor
public final class DeliveryRecorder {
  private typealias Waiter = CheckedContinuation<Recorded, any Error>

  /// The ledger's answer to a change.
  public struct Recorded: Sendable, Equatable {
    /// Since when every attempt at the endpoint has failed; `nil` when the last one succeeded.
    public var failingSince: Int64?
    /// The endpoints that the look at the event missed. Each has a row of its delivery now, and needs a message.
    public var missed: [EndpointId] = []
  }

  private struct Entry {
    let number: Int
    let change: DeliveryChange
    let waiter: Waiter?
    /// Whether an earlier commit of it may have succeeded.
    var isRepeated = false
  }

  /// The most changes of one commit.
  private static let most = 200
  /// The commits under way at a time: one writes while the next one's rows are on their way.
  private static let mostUnderWay = 2

  private let postgres: PostgresClient
  private let onFailure: @LoopActor (PostgresError) -> Void
  private var entries: [Entry] = []
  private var next = 0
  private var underWay = 0
  private var inCommit = 0
  /// The entries in a commit whose callers were cancelled.
  private var cancelled: Set<Int> = []
  private var isClosed = false
  private var backoff = Backoff()
  /// The wait for the next try after a failure.
  private var pause: LoopTimer?
  private lazy var sendLater = EndOfTurn { [weak self] in self?.send() }

  /// Creates a recorder over a client.
  ///
  /// - Parameter onFailure: hears about each commit that failed and runs again.
  public init(_ postgres: PostgresClient, onFailure: @escaping @LoopActor (PostgresError) -> Void = { _ in }) {
    self.postgres = postgres
    self.onFailure = onFailure
  }

  /// How many changes are not committed yet.
  public var waiting: Int { entries.count + inCommit }

  /// Returns when the ledger has the change.
  ///
  /// If several changes note a look at one event, the answer to one of them has the missed endpoints.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before the change is sent, and `PostgresError` if the
  ///   ledger refuses it.
  public func record(_ change: DeliveryChange) async throws -> Recorded {
    next += 1
    let number = next
    return try await withTaskCancellationHandler {
      try Task.checkCancellation()
      return try await withCheckedThrowingContinuation { add(Entry(number: number, change: change, waiter: $0)) }
    } onCancel: {
      Task { @LoopActor in self.cancel(number) }
    }
  }

  /// Notes a change that nobody waits for. The recorder drops it if the ledger is away.
  public func note(_ change: DeliveryChange) {
    guard postgres.isReady, pause == nil else { return }
    add(Entry(number: 0, change: change, waiter: nil))
  }

  /// Ends every wait with an error. The recorder takes no further change.
  public func close() {
    isClosed = true
    pause?.close()
    pause = nil
    let left = entries
    entries.removeAll()
    refuse(left, CancellationError())
  }

  private func add(_ entry: Entry) {
    if isClosed { return refuse([entry], CancellationError()) }
    entries.append(entry)
    sendLater.plan()
  }

  private func cancel(_ number: Int) {
    guard let index = entries.firstIndex(where: { $0.number == number }) else {
      if inCommit > 0 { cancelled.insert(number) }
      return
    }
    entries.remove(at: index).waiter?.resume(throwing: CancellationError())
  }

  private func send() {
    while underWay < Self.mostUnderWay, pause == nil, !entries.isEmpty {
      let some = Array(entries.prefix(Self.most))
      entries.removeFirst(some.count)
      underWay += 1
      inCommit += some.count
      Task.immediate { @LoopActor in
        await commit(some)
        underWay -= 1
        sendLater.plan()
      }
    }
  }

  private func commit(_ some: [Entry]) async {
    do {
      let batch = DeliveryBatch(some.map(\.change), isRepeated: some.contains(where: \.isRepeated))
      let rows = try await postgres.run(batch.queries)
      backoff = Backoff()
      var failing: [DeliveryBatch.Endpoint: Int64] = [:]
      if !batch.failing.isEmpty, let last = rows.last {
        for row in last {
          let (publisher, id) = (try row.id("publisher_id") ?? 0, try row.id("endpoint_id") ?? EndpointId.unknown)
          failing[.init(publisher: publisher, id: id)] = try row.time("failing_since")
        }
      }
      var missed: [EventId: [EndpointId]] = [:]
      if !batch.seen.isEmpty, let written = rows.first {
        missed = batch.missed(
          try written.map {
            DeliveryBatch.Key(
              event: try $0.id("event_id") ?? "", endpoint: try $0.id("endpoint_id") ?? .unknown, round: "")
          })
      }
      ended(some)
      for entry in some {
        let endpoint = DeliveryBatch.Endpoint(
          publisher: entry.change.publisherId, id: entry.change.endpointId)
        var recorded = Recorded(failingSince: failing[endpoint])
        if entry.change.look != nil { recorded.missed = missed.removeValue(forKey: entry.change.eventId) ?? [] }
        entry.waiter?.resume(returning: recorded)
      }
    } catch {
      let left = some.filter { !cancelled.contains($0.number) }
      refuse(some.filter { cancelled.contains($0.number) }, CancellationError())
      ended(some)
      await failed(left, error)
    }
  }

  private func ended(_ some: [Entry]) {
    inCommit -= some.count
    if inCommit == 0 { cancelled.removeAll() } else { cancelled.subtract(some.map(\.number)) }
  }

  private func failed(_ some: [Entry], _ error: any Error) async {
    guard let error = error as? PostgresError, !isClosed else { return refuse(some, error) }
    onFailure(error)
    guard error.advice == .ourMistake, !error.isMissingPartition else {
      // Nobody waits for the notes, and they are out of date by then.
      entries =
        some.filter { $0.waiter != nil }.map { entry in
          var entry = entry
          // Nobody knows what became of a transaction whose connection ended.
          entry.isRepeated = entry.isRepeated || error.code == .connectionLost || error.code == .timeout
          return entry
        } + entries
      return wait()
    }
    // One change with a wrong value must not hold up the others.
    guard some.count > 1 else { return refuse(some, error) }
    inCommit += some.count
    await commit(Array(some[..<(some.count / 2)]))
    await commit(Array(some[(some.count / 2)...]))
  }

  private func refuse(_ some: [Entry], _ error: any Error) {
    for entry in some { entry.waiter?.resume(throwing: error) }
  }

  private func wait() {
    guard pause == nil else { return }
    let timer = LoopTimer { [weak self] in
      self?.pause?.close()
      self?.pause = nil
      self?.sendLater.plan()
    }
    timer.start(after: backoff.next())
    pause = timer
  }
}

extension PostgresError {
  /// Whether the log of attempts has no partition for today: PostgreSQL reports a violated check without a name.
  public var isMissingPartition: Bool { code == .server(sqlState: "23514") && constraint == nil }
}
