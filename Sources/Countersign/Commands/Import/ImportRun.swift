import AMQP
import Configuration
import Coordination
import Domain
import EventLoop
import Import
import Ledger
import Messaging
import Postgres
import Redis
import Service

/// Registers rows at a pace, and waits until each synchronization is finalized in the ledger.
///
/// The order of the steps is that of a registration over HTTP: claim, publish, prolong. If the process is killed in
/// between, the sweep enqueues the open synchronization. The next run finds each row by its id, in Redis or in the
/// ledger.
@LoopActor
final class ImportRun {
  /// Why an import cannot go on.
  struct Stopped: Error, CustomStringConvertible {
    let description: String
  }

  /// How long servers may fail before the import ends.
  private static let patience: Duration = .seconds(300)
  private static let round: Duration = .milliseconds(200)
  private static let forgottenAfter: Duration = .seconds(900)
  /// How long the ledger may take to notice that the process before was killed.
  private static let lockWait: Duration = .seconds(10)

  private let options: ImportOptions
  private let configuration: LoadedConfiguration
  private let file: ImportFile
  private let pace: Double
  private let claims: TransactionClaims
  private let synchronizations: SynchronizationReader
  private let lock: ImportLock
  private let redis: RedisClient
  private let publisher: AMQPPublisher
  private let topology: Topology

  private var queue: ImportQueue
  /// How many rows had a result before this run.
  private(set) var earlier = 0
  private var lookedAt = ContinuousClock.now
  private var lockedAt = ContinuousClock.now

  init(
    _ options: ImportOptions, _ configuration: LoadedConfiguration, _ file: ImportFile, pace: Double,
    _ postgres: PostgresClient
  ) async {
    (self.options, self.configuration, self.file, self.pace) = (options, configuration, file, pace)
    let settings = configuration.settings
    let topology = Topology(settings)
    redis = await RedisClient.opened(RedisEndpoint(settings.redis))
    claims = TransactionClaims(redis, prefix: settings.redis.prefix)
    synchronizations = SynchronizationReader(postgres)
    lock = ImportLock(postgres, publisher: options.source.publisher)
    publisher = await afterFirstAttempt { onChange in
      let publisher = AMQPPublisher(
        { AMQPEndpoint(settings.rabbitmq) }, name: "countersign import", onChange: { _ in onChange() },
        declare: { _ = try await topology.declare(on: $0) })
      publisher.start()
      return publisher
    }
    self.topology = topology
    queue = ImportQueue(file.rows, round: options.round)
  }

  func stop() async {
    await publisher.stop()
    await redis.stop()
  }

  /// Runs until the ledger has a result of each row.
  ///
  /// - Throws: ``Stopped``, or the error of a server that has failed for ``patience``.
  func run() async throws {
    try await takeLock()
    try await takeEarlier()
    let progress = ImportProgress(file.rows.count, before: earlier, isTold: !options.source.isJSON)
    var (lastGood, lastRound) = (ContinuousClock.now, ContinuousClock.now)
    var allowed = 1.0
    while !queue.isDone {
      do {
        let now = ContinuousClock.now
        allowed = min(allowed + pace * ((now - lastRound) / .seconds(1)), max(1, pace))
        lastRound = now
        while allowed >= 1, case let turns = queue.next(min(Int(allowed), Self.atOnce)), !turns.isEmpty {
          allowed -= Double(turns.count)
          guard try await register(turns) else { break }
        }
        try await takeFinalized(at: now)
        try await keepLock(at: now)
        lastGood = .now
      } catch let error as Stopped {
        throw error
      } catch {
        guard ContinuousClock.now - lastGood < Self.patience else { throw error }
        complain("trying again: \(error)")
        try await EventLoop.sleep(for: .seconds(2))
      }
      progress.tell(done: queue.finished)
      if !queue.isDone { try await EventLoop.sleep(for: Self.round) }
      queue.tryHeld()
    }
  }

  /// Reads the results of rows that the ledger has finalized.
  func results(of rows: some Sequence<ImportRow>) async throws -> [SynchronizationId: SynchronizationResult] {
    try await synchronizations.results(
      options.source.publisher, rows.map { $0.synchronizationId(round: options.round) })
  }

  // MARK: The ledger

  /// Takes what earlier runs have finalized.
  private func takeEarlier() async throws {
    while case let ids = queue.unknownIds(1000), !ids.isEmpty {
      queue.sort(ids, Set(try await synchronizations.results(options.source.publisher, ids).keys))
    }
    earlier = queue.finished
  }

  /// Takes what is finalized now.
  private func takeFinalized(at now: ContinuousClock.Instant) async throws {
    let open = queue.openIds
    guard !open.isEmpty, open.count < 100 || now - lookedAt > .seconds(1) else { return }
    lookedAt = now
    queue.take(try await synchronizations.results(options.source.publisher, open).keys)
    queue.tryOpen(since: now - Self.forgottenAfter)
  }

  private func takeLock() async throws {
    let end = ContinuousClock.now + Self.lockWait
    while try await !lock.take() {
      guard ContinuousClock.now < end else {
        throw Stopped(
          description: "another import of publisher \(options.source.publisher) is running; wait for its end")
      }
      try await EventLoop.sleep(for: Self.round)
    }
  }

  private func keepLock(at now: ContinuousClock.Instant) async throws {
    guard now - lockedAt > .seconds(5) else { return }
    lockedAt = now
    guard try await lock.take() else {
      throw Stopped(description: "another import of publisher \(options.source.publisher) has begun")
    }
  }

  // MARK: A registration

  /// The most rows that are registered at once. Each waits for Redis twice and for the broker's confirm, some
  /// milliseconds in all: one after the other, they would be a few hundred a second.
  private static let atOnce = 128

  /// Registers some rows at once.
  ///
  /// - Returns: whether the next ones may follow at once.
  /// - Throws: the first error of a server, once all have ended.
  private func register(_ turns: [ImportQueue.Turn]) async throws -> Bool {
    let registrations = turns.map { turn in Task.immediate { @LoopActor in try await register(turn) } }
    var results: [Result<Bool, any Error>] = []
    for one in registrations { results.append(await one.result) }
    return try results.map { try $0.get() }.allSatisfy { $0 }
  }

  /// Registers a row.
  ///
  /// - Returns: whether the next one may follow at once.
  /// - Throws: the error of a server; the row then waits again.
  private func register(_ turn: ImportQueue.Turn) async throws -> Bool {
    let row = turn.row
    let job = Job(
      synchronizationId: row.synchronizationId(round: options.round), publisherId: options.source.publisher,
      customerId: row.customerId, transactionId: row.transactionId, lane: .bulk,
      imported: options.tells ? .told : .silent,
      signedTransaction: signedTransaction(of: row), registeredAt: unixMilliseconds())
    // After a failure of the claim the row waits again. What was claimed is under way: the sweep enqueues it.
    var answer = ImportQueue.Answer.later
    defer { queue.note(turn, answer, at: .now) }
    switch try await claims.take(
      job, checksCustomer: false, limits: configuration.settings.gateway.limits.registrations,
      sweepAfter: configuration.settings.worker.sweepAfter)
    {
    case .claimed:
      answer = .open
      try await publisher.publish(
        JobMessage.message(job, attempt: 1, queue: topology.jobs(.bulk)),
        timeout: configuration.settings.gateway.publishTimeout)
      _ = try await claims.prolong(job)
    case .held(let holder) where holder.synchronizationId == job.synchronizationId:
      // An earlier run has registered it. The sweep enqueues it if no queue has its job.
      answer = .open
    case .replayed: answer = .open
    case .held: answer = .held
    case .limited: return false
    case .unknownCustomer, .unknownId, .idInUse:
      throw Stopped(description: "line \(row.line): its synchronization \(job.synchronizationId) is another's")
    }
    return true
  }

  /// The signed transaction of a row that says that it is enough. It is not kept in memory, so it is read again. If
  /// the file is a pipe, it is gone, and Apple is asked.
  private func signedTransaction(of row: ImportRow) -> String? {
    guard let offset = row.signedAt, let input = LineInput(file: options.source.file, at: offset) else { return nil }
    return file.signedTransaction { input.next() }
  }
}
