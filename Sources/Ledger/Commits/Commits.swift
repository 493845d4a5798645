public import Domain
public import EventLoop
import Formats
public import Postgres

/// The commits that finalize synchronizations: what waits when a connection is free goes into one transaction
/// (decision 0022).
///
/// Work that somebody waits for goes before background work, and the publishers take turns (``CommitTurns``).
///
/// A commit may run again after any failure: a synchronization finalizes once, because it is a key of the ledger.
@LoopActor
public final class Commits {
  /// The settings of a session in which commits run: its statements find rows by their keys alone.
  ///
  /// A connection plans its statements once. On the tables of a new ledger, PostgreSQL chooses plans that read them
  /// whole, and keeps these plans until it has analyzed the tables, while they grow. With 20,000 purchases the
  /// statements of a batch of 100 then take 31 ms instead of 4 ms.
  public nonisolated static let sessionSettings: [(name: String, value: String)] = [
    ("enable_hashjoin", "off"), ("enable_mergejoin", "off"), ("enable_seqscan", "off"),
  ]

  private let postgres: PostgresClient
  private let settings: Settings
  private var waiting: CommitTurns<Entry>
  private lazy var afterRest = LoopTimer { [weak self] in self?.startBatches() }
  private lazy var startLater = EndOfTurn { [weak self] in self?.startBatches() }
  private var knownChains: Set<[UInt8]> = []
  private var subscriptionIds: [Int64] = []
  private var confirmed: [EventId] = []

  /// What a commit needs to know of its process.
  public struct Settings {
    /// The most finalizations of one commit.
    public var mostAtOnce = 200
    /// The commits that run at the same time: one for each connection.
    public var connections: Int
    /// Tells milliseconds since 1970.
    public var now: @LoopActor () -> Int64
    /// Whom events are told.
    public var audience: @LoopActor () -> EventAudience
    /// The commit calls this with each failure, before it tries again or gives up.
    public var onFailure: @LoopActor (any Error) -> Void
    /// The commit calls this with the number of results, of news and of waits that it has written.
    public var onCommit: @LoopActor (Int) -> Void
    /// The commit calls this for each finalization that begins, with the seconds that it waited.
    public var onBegin: @LoopActor (Double, CommitKind) -> Void

    /// Creates settings.
    public init(
      connections: Int, now: @escaping @LoopActor () -> Int64,
      audience: @escaping @LoopActor () -> EventAudience = { [] },
      onFailure: @escaping @LoopActor (any Error) -> Void = { _ in },
      onCommit: @escaping @LoopActor (Int) -> Void = { _ in },
      onBegin: @escaping @LoopActor (Double, CommitKind) -> Void = { _, _ in }
    ) {
      self.connections = connections
      self.now = now
      self.audience = audience
      self.onFailure = onFailure
      self.onCommit = onCommit
      self.onBegin = onBegin
    }
  }

  private struct Entry {
    let work: Work
    /// When it came, by the monotonic clock in nanoseconds.
    let since = monotonicNanoseconds()
    var tries = 0

    var publisherId: PublisherId {
      switch work {
      case .finalize(let request, _): request.job.publisherId
      case .apply(let update, _): update.key.publisherId
      case .postpone(let waiting, _): waiting.job.publisherId
      }
    }

    /// Whose row the commit locks; `nil` for news about a purchase, whose owner the commit finds out, and for a job
    /// whose caller named nobody.
    var customer: CustomerKey? {
      switch work {
      case .finalize(let request, _): request.job.isUnclaimed ? nil : request.customerKey
      case .apply: nil
      case .postpone(let waiting, _): waiting.job.isUnclaimed ? nil : waiting.job.customerKey
      }
    }

    /// Whether nobody waits for it: jobs in bulk, and looks of timers.
    var isBackground: Bool {
      switch work {
      case .finalize(let request, _): request.job.lane == .bulk
      case .apply(let update, _): update.source.isTimer
      case .postpone(let waiting, _): waiting.job.lane == .bulk
      }
    }

    func end(throwing error: any Error) {
      switch work {
      case .finalize(_, let waiter): waiter.resume(throwing: error)
      case .apply(_, let waiter): waiter.resume(throwing: error)
      case .postpone(_, let waiter): waiter.resume(throwing: error)
      }
    }
  }

  private enum Work {
    case finalize(FinalizationRequest, CheckedContinuation<Finalized, any Error>)
    case apply(PurchaseUpdate, CheckedContinuation<[Event], any Error>)
    case postpone(SynchronizationRow.Waiting, CheckedContinuation<Void, any Error>)
  }

  /// A conflict with another worker passes at once. More conflicts in a row than this are something else.
  private static let mostConflicts = 20

  /// Creates the commits of a worker.
  public init(_ postgres: PostgresClient, _ settings: Settings) {
    self.postgres = postgres
    self.settings = settings
    waiting = CommitTurns(mostAtOnce: settings.mostAtOnce, connections: settings.connections)
  }

  /// Finalizes a synchronization; returns after the commit.
  ///
  /// While the ledger is away, it waits.
  ///
  /// - Throws: `PostgresError` or another error when this finalization alone makes its commit fail; `CancellationError`
  ///   after ``stop()``.
  public func finalize(_ request: FinalizationRequest) async throws -> FinalizedSynchronization {
    FinalizedSynchronization(try await withCheckedThrowingContinuation { add(.finalize(request, $0)) })
  }

  /// Applies news about a purchase that no registration brought; returns the events to publish, after the commit.
  ///
  /// While the ledger is away, it waits.
  ///
  /// - Throws: as ``finalize(_:)``.
  public func apply(_ update: PurchaseUpdate) async throws -> Told {
    Told(try await withCheckedThrowingContinuation { add(.apply(update, $0)) })
  }

  /// Keeps a job that waits for long, so that the loss of Redis and of the broker's messages cannot lose it; returns
  /// after the commit. A finalized synchronization stays finalized.
  ///
  /// - Parameter due: its next run, in milliseconds since 1970.
  /// - Throws: as ``finalize(_:)``.
  public func postpone(_ job: Job, until due: Int64) async throws {
    try await withCheckedThrowingContinuation {
      add(.postpone(SynchronizationRow.Waiting(job, until: due), $0))
    }
  }

  /// Returns what an earlier run has finalized, with the event if the broker has not confirmed it; `nil` if the
  /// synchronization is not finalized.
  ///
  /// - Throws: `PostgresError`.
  public func find(_ job: Job) async throws -> FinalizedSynchronization? {
    let key = SynchronizationKey(job)
    let rows = try await postgres.run([
      PostgresQuery(
        SynchronizationRow.find,
        [
          .id(key.publisherId), .id(key.id), .id(key.transactionId),
          .ids([key.customerId, key.erased.customerId]),
        ]), PostgresQuery(OutboxRow.read, [.ids([Event.id(of: job)])]),
    ])
    guard let kept = try KeptSynchronization.all(rows[0]).first else { return nil }
    return FinalizedSynchronization(
      Finalized(synchronization: kept.synchronization, events: try Event.all(rows[1])))
  }

  private func add(_ work: Work) {
    let entry = Entry(work: work)
    guard !isStopped else { return entry.end(throwing: CancellationError()) }
    line(entry)
    startLater.plan()
  }

  private func line(_ entry: Entry) {
    waiting.append(
      entry, of: entry.publisherId, for: entry.customer, isBackground: entry.isBackground, at: now)
  }

  /// Notes events that the broker has confirmed. The next commit takes them out of the outbox.
  public func confirm(_ eventIds: [EventId]) { confirmed += eventIds }

  /// Takes the confirmed events out of the outbox when no commit comes.
  public func flushConfirmed() async {
    guard !confirmed.isEmpty, postgres.isReady else { return }
    let ids = takeConfirmed()
    do {
      _ = try await postgres.run(Event.confirmed(ids))
    } catch {
      confirmed += ids
    }
  }

  /// Lets every waiting finalization fail. Their jobs go back to the broker.
  public func stop() {
    isStopped = true
    afterRest.close()
    for entry in waiting.takeAll() { entry.end(throwing: CancellationError()) }
  }
  private var isStopped = false

  // MARK: Batches

  private var now: Duration { .nanoseconds(Int64(clamping: monotonicNanoseconds())) }

  private func startBatches() {
    while let batch = waiting.next(at: now) {
      let now = monotonicNanoseconds()
      for entry in batch.elements {
        settings.onBegin(Double(now - min(now, entry.since)) / 1_000_000_000, batch.kind)
      }
      Task.immediate { @LoopActor in
        await run(batch.elements)
        waiting.end(batch, at: self.now)
        startBatches()
      }
    }
    // Otherwise nobody would begin it when no other commit ends and no work comes.
    if let rest = waiting.rest(at: now) { afterRest.start(after: rest + .milliseconds(1)) }
  }

  private func run(_ batch: [Entry]) async {
    do {
      let done = try await commit(batch)
      var (results, told) = (done.results[...], done.told[...])
      settings.onCommit(batch.count)
      for entry in batch {
        switch entry.work {
        case .finalize(_, let waiter): waiter.resume(returning: results.removeFirst())
        case .apply(_, let waiter): waiter.resume(returning: told.removeFirst())
        case .postpone(_, let waiter): waiter.resume()
        }
      }
    } catch {
      settings.onFailure(error)
      await recover(batch, error)
    }
  }

  private func recover(_ batch: [Entry], _ error: any Error) async {
    let again = batch.map { entry in
      var entry = entry
      entry.tries += 1
      return entry
    }
    switch CommitFailure(error) {
    case .conflict where again.allSatisfy({ $0.tries <= Self.mostConflicts }): return await run(again)
    case .passing:
      // The ledger may be away. The jobs wait here with their leases.
      do {
        try await EventLoop.sleep(for: .milliseconds(Int.random(in: 200...600)))
      } catch {
        return fail(batch, error)
      }
      return isStopped ? fail(batch, CancellationError()) : await run(batch)
    case .locked where batch.allSatisfy { $0.customer == batch[0].customer && $0.customer != nil } || batch.count == 1:
      // Others must not wait for it. Its halves would wait for the same row.
      return isStopped ? fail(batch, CancellationError()) : batch.forEach(line)
    case .conflict, .locked, .mistake: break
    }
    // One of them makes the commit fail. The halves commit alone.
    guard batch.count > 1 else { return fail(batch, error) }
    await run(Array(batch[..<(batch.count / 2)]))
    await run(Array(batch[(batch.count / 2)...]))
  }

  private func fail(_ batch: [Entry], _ error: any Error) {
    for entry in batch { entry.end(throwing: error) }
  }

  // MARK: One commit

  private func commit(_ batch: [Entry]) async throws -> Done {
    var (requests, updates): ([FinalizationRequest], [PurchaseUpdate]) = ([], [])
    var postponed: [SynchronizationRow.Waiting] = []
    for entry in batch {
      switch entry.work {
      case .finalize(let request, _): requests.append(request)
      case .apply(let update, _): updates.append(update)
      case .postpone(let job, _): postponed.append(job)
      }
    }
    let confirmed = takeConfirmed()
    do {
      var done = try await decideAndWrite(requests, updates, postponed, confirmed)
      knownChains.formUnion(done.chains)
      done.results = try await completed(done)
      return done
    } catch {
      self.confirmed += confirmed
      throw error
    }
  }

  private struct Done {
    var results: [Finalized] = []
    /// The events of each update.
    var told: [[Event]] = []
    /// The events of synchronizations that an earlier commit has finalized, by their place in the batch.
    var earlier: [Int: EventId] = [:]
    var chains: Set<[UInt8]> = []
  }

  private func decideAndWrite(
    _ requests: [FinalizationRequest], _ updates: [PurchaseUpdate], _ postponed: [SynchronizationRow.Waiting],
    _ confirmed: [EventId]
  ) async throws -> Done {
    let reading = CommitReading(requests, updates: updates, waiting: postponed.map(\.job))
    // Another batch may begin while this one waits. A failed commit may have used its numbers: nobody else gets them.
    var ids = Array(subscriptionIds.suffix(reading.numbers))
    subscriptionIds.removeLast(ids.count)
    let missing = Int64(reading.numbers - ids.count)
    let denied = DeniedTransactions.concerned(requests)
    var queries = (denied.isEmpty ? [] : [DeniedTransactions.lock(denied)]) + reading.queries
    if missing > 0 { queries.append(OwnershipRow.nextBlocks(for: missing)) }
    let reads = queries
    return try await postgres.transaction { [self] transaction in
      var rows = try await transaction.query(reads)
      if !denied.isEmpty { rows.removeFirst() }
      if missing > 0 { ids = try OwnershipRow.numbers(rows.removeLast()) + ids }
      var found = try reading.read(rows, now: settings.now(), subscriptionIds: ids)
      var done = decide(requests, &found)
      done.told = updates.map { found.state.apply($0) }
      subscriptionIds += found.state.subscriptionIds
      let writing = CommitWriting(
        found.state, waiting: Set(found.synchronizations.keys), postponed: postponed, knownChains: knownChains,
        audience: settings.audience(), confirmed: confirmed)
      _ = try await transaction.commit(writing.queries)
      done.chains = writing.chains
      return done
    }
  }

  private func decide(_ requests: [FinalizationRequest], _ found: inout CommitReading.Found) -> Done {
    var done = Done()
    var seen: [SynchronizationKey: Finalized] = [:]
    for (place, request) in requests.enumerated() {
      let key = SynchronizationKey(request.job)
      if let kept = found.finalized(key) {
        done.earlier[place] = kept.eventId
        done.results.append(Finalized(synchronization: kept.synchronization, events: []))
      } else {
        // Two copies of a job may meet in one batch.
        let result = seen[key] ?? found.state.finalize(request)
        seen[key] = result
        done.results.append(result)
      }
    }
    return done
  }

  /// Adds the events of synchronizations that were finalized before, if the broker has not confirmed them.
  private func completed(_ done: Done) async throws -> [Finalized] {
    guard !done.earlier.isEmpty else { return done.results }
    let rows = try await postgres.run(PostgresQuery(OutboxRow.read, [.ids(Array(done.earlier.values))]))
    let events = Dictionary(try Event.all(rows).map { ($0.id, $0) }) { one, _ in one }
    var results = done.results
    for (place, id) in done.earlier {
      results[place] = Finalized(synchronization: results[place].synchronization, events: events[id].map { [$0] } ?? [])
    }
    return results
  }

  private func takeConfirmed() -> [EventId] {
    defer { confirmed.removeAll() }
    return confirmed
  }
}
