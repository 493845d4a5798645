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

  /// The most synchronizations under way. The rest of the publisher's limits stays to others.
  private static let mostOpen = 2000
  /// How long servers may fail before the import ends.
  private static let patience: Duration = .seconds(300)
  private static let round: Duration = .milliseconds(200)
  private static let forgottenAfter: Duration = .seconds(900)

  private let options: ImportOptions
  private let configuration: LoadedConfiguration
  private let pace: Double
  private let claims: TransactionClaims
  private let synchronizations: SynchronizationReader
  private let lock: ImportLock
  private let redis: RedisClient
  private let publisher: AMQPPublisher
  private let topology: Topology

  /// Rows that wait to be registered.
  private var waiting: [ImportRow]
  /// Rows that wait for another synchronization of their transaction.
  private var held: [ImportRow] = []
  /// Rows whose synchronizations are under way, and since when this process knows.
  private var open: [SynchronizationId: (row: ImportRow, since: ContinuousClock.Instant)] = [:]
  private var lookedAt = ContinuousClock.now
  private var lockedAt = ContinuousClock.now
  private var done: [SynchronizationId: SynchronizationResult] = [:]
  private let total: Int

  init(
    _ options: ImportOptions, _ configuration: LoadedConfiguration, _ rows: [ImportRow], pace: Double,
    _ postgres: PostgresClient
  ) async {
    (self.options, self.configuration, self.pace) = (options, configuration, pace)
    let settings = configuration.settings
    let topology = Topology(settings)
    redis = await RedisClient.opened(RedisEndpoint(settings.redis))
    claims = TransactionClaims(redis, prefix: settings.redis.prefix)
    synchronizations = SynchronizationReader(postgres)
    lock = ImportLock(postgres, publisher: options.publisher)
    publisher = await afterFirstAttempt { onChange in
      let publisher = AMQPPublisher(
        { AMQPEndpoint(settings.rabbitmq) }, name: "countersign import", onChange: { _ in onChange() },
        declare: { _ = try await topology.declare(on: $0) })
      publisher.start()
      return publisher
    }
    self.topology = topology
    // The next row is the last one: it is cheap to take.
    waiting = rows.reversed()
    total = rows.count
  }

  func stop() async {
    await publisher.stop()
    await redis.stop()
  }

  /// Runs to the end.
  ///
  /// - Returns: the results by the ids of the rows.
  /// - Throws: ``Stopped``, or the error of a server that has failed for ``patience``.
  func results() async throws -> [SynchronizationId: SynchronizationResult] {
    guard try await lock.take() else {
      throw Stopped(description: "another import of publisher \(options.publisher) is running; wait for its end")
    }
    try await takeEarlier()
    let progress = ImportProgress(rows: total, before: done.count, isTold: !options.isJSON)
    var (lastGood, lastRound) = (ContinuousClock.now, ContinuousClock.now)
    var allowed = 1.0
    while done.count < total {
      do {
        let now = ContinuousClock.now
        allowed = min(allowed + pace * ((now - lastRound) / .seconds(1)), max(1, pace))
        lastRound = now
        while allowed >= 1, open.count < Self.mostOpen, let row = waiting.popLast() {
          allowed -= 1
          guard try await register(row) else { break }
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
      progress.tell(done: done.count)
      if done.count < total { try await EventLoop.sleep(for: Self.round) }
      if waiting.isEmpty { (waiting, held) = (held, []) }
    }
    return done
  }

  private func id(of row: ImportRow) -> SynchronizationId { row.synchronizationId(round: options.round) }

  // MARK: The ledger

  /// Takes what earlier runs have finalized.
  private func takeEarlier() async throws {
    var rest = waiting[...]
    while !rest.isEmpty {
      let some = rest.prefix(1000)
      rest = rest.dropFirst(some.count)
      done.merge(try await synchronizations.results(options.publisher, some.map(id(of:)))) { one, _ in one }
    }
    waiting.removeAll { done[id(of: $0)] != nil }
  }

  /// Takes what is finalized now. A row that takes very long is registered again: if the servers have forgotten it, it
  /// would never end, and otherwise that changes nothing.
  private func takeFinalized(at now: ContinuousClock.Instant) async throws {
    guard open.count < 100 || now - lookedAt > .seconds(1) else { return }
    lookedAt = now
    let found = try await synchronizations.results(options.publisher, Array(open.keys))
    done.merge(found) { one, _ in one }
    for id in found.keys { open[id] = nil }
    for (id, one) in open where now - one.since > Self.forgottenAfter {
      open[id] = nil
      waiting.append(one.row)
    }
  }

  private func keepLock(at now: ContinuousClock.Instant) async throws {
    guard now - lockedAt > .seconds(5) else { return }
    lockedAt = now
    guard try await lock.take() else {
      throw Stopped(description: "another import of publisher \(options.publisher) has begun")
    }
  }

  // MARK: A registration

  /// Registers a row.
  ///
  /// - Returns: whether the next one may follow at once.
  /// - Throws: the error of a server; the row then waits again.
  private func register(_ row: ImportRow) async throws -> Bool {
    let job = Job(
      synchronizationId: id(of: row), publisherId: options.publisher, customerId: row.customerId,
      transactionId: row.transactionId, lane: .bulk, imported: options.tells ? .told : .silent,
      registeredAt: unixMilliseconds())
    do {
      switch try await claims.take(
        job, checksCustomer: false, limits: configuration.settings.gateway.limits.registrations,
        sweepAfter: configuration.settings.worker.sweepAfter)
      {
      case .claimed:
        open[job.synchronizationId] = (row, .now)
        try await publisher.publish(
          JobMessage.message(job, attempt: 1, queue: topology.jobs(.bulk)),
          timeout: configuration.settings.gateway.publishTimeout)
        _ = try await claims.prolong(job)
        return true
      case .held(let holder) where holder.synchronizationId == job.synchronizationId:
        // An earlier run has registered it. The sweep enqueues it if no queue has its job.
        open[job.synchronizationId] = (row, .now)
        return true
      case .replayed:
        open[job.synchronizationId] = (row, .now)
        return true
      case .held:
        held.append(row)
        return true
      case .limited:
        waiting.append(row)
        return false
      case .unknownCustomer, .unknownId, .idInUse:
        throw Stopped(description: "line \(row.line): its synchronization \(job.synchronizationId) is another's")
      }
    } catch {
      // What was claimed is open, and the sweep enqueues it.
      if open[job.synchronizationId] == nil { waiting.append(row) }
      throw error
    }
  }
}
