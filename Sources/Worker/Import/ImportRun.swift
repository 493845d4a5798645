package import AMQP
package import Configuration
package import Coordination
package import Domain
package import EventLoop
package import Import
package import Ledger
package import Messaging

/// Registers rows at a pace, and waits until each synchronization is finalized in the ledger. `countersign import` and
/// the workers run it.
///
/// The order of the steps is that of a registration over HTTP: claim, publish, prolong. If the process is killed in
/// between, the sweep enqueues the open synchronization. The next run finds each row by its id, in Redis or in the
/// ledger.
@LoopActor
package final class ImportRun {
  /// Why an import cannot go on.
  package struct Stopped: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
  }

  /// Whether a run may register further rows.
  package enum Standing: Sendable {
    case ours
    /// Nobody wants further rows. Those that are registered finish.
    case cancelled
    /// Others want the place of this run. The next run goes on.
    case yields
  }

  /// How a run has ended.
  package enum Ending: Sendable, Equatable {
    /// Each row has a result.
    case finished
    case cancelled
    case yielded

    /// How a run ends that had customers and grants to bring before its rows.
    ///
    /// Each row may have a result already, or there may be none. So the rows alone do not tell that all is there.
    ///
    /// - Parameters:
    ///   - rows: how the registration has ended.
    ///   - isWhole: whether nothing is left to bring.
    static func of(rows: Ending, isWhole: Bool) -> Ending { rows == .finished && !isWhole ? .cancelled : rows }
  }

  /// What a run does with each row.
  package struct Wish: Sendable {
    package var publisherId: PublisherId
    package var round: Int
    package var tells: Bool
    /// Rows in a second, besides those whose signed transactions are enough.
    package var pace: Double

    package init(publisherId: PublisherId, round: Int, tells: Bool, pace: Double) {
      (self.publisherId, self.round, self.tells, self.pace) = (publisherId, round, tells, pace)
    }
  }

  /// What a run works with.
  @LoopActor
  package struct Dependencies {
    /// Claims the transaction of a job.
    package var claim: @LoopActor (Job) async throws -> ClaimAnswer
    /// Publishes a claimed job.
    package var publish: @LoopActor (Job) async throws -> Void
    /// Makes the claim last.
    package var prolong: @LoopActor (Job) async throws -> Void
    /// Reads the results of those synchronizations that are finalized.
    package var results: @LoopActor ([SynchronizationId]) async throws -> [SynchronizationId: SynchronizationResult]
    /// Reads the signed transaction of a row again; `nil` if it is gone.
    package var signedTransaction: @LoopActor (ImportRow) async throws -> String? = { _ in nil }
    /// Whether the run may go on. It throws ``Stopped`` if another one has begun.
    package var standing: @LoopActor () async throws -> Standing = { .ours }
    /// Learns how many rows have a result.
    package var tell: @LoopActor (_ done: Int) -> Void = { _ in }
    /// Learns that a server has failed, and that the run tries again.
    package var failed: @LoopActor (any Error) -> Void = { _ in }

    init(
      claim: @escaping @LoopActor (Job) async throws -> ClaimAnswer,
      publish: @escaping @LoopActor (Job) async throws -> Void,
      prolong: @escaping @LoopActor (Job) async throws -> Void,
      results: @escaping @LoopActor ([SynchronizationId]) async throws -> [SynchronizationId: SynchronizationResult]
    ) {
      (self.claim, self.publish, self.prolong, self.results) = (claim, publish, prolong, results)
    }

    /// Those of a process with clients of its own.
    package init(
      _ publisherId: PublisherId, _ settings: Settings, _ claims: TransactionClaims, _ publisher: AMQPPublisher,
      _ topology: Topology, _ synchronizations: SynchronizationReader,
      signedTransaction: @escaping @LoopActor (ImportRow) async throws -> String?,
      standing: @escaping @LoopActor () async throws -> Standing, tell: @escaping @LoopActor (Int) -> Void,
      failed: @escaping @LoopActor (any Error) -> Void
    ) {
      claim = { job in
        try await claims.take(
          job, checksCustomer: false, limits: settings.gateway.limits.registrations,
          sweepAfter: settings.worker.sweepAfter)
      }
      publish = { job in
        try await publisher.publish(
          JobMessage.message(job, attempt: 1, queue: topology.jobs(.bulk)), timeout: settings.gateway.publishTimeout)
      }
      prolong = { _ = try await claims.prolong($0) }
      results = { try await synchronizations.results(publisherId, $0) }
      (self.signedTransaction, self.standing, self.tell, self.failed) = (signedTransaction, standing, tell, failed)
    }
  }

  /// How long servers may fail before the run ends.
  private static let patience: Duration = .seconds(300)
  /// Rows are registered in rounds. Long ones make bursts, and a customer's purchase waits behind each of them.
  private static let round: Duration = .milliseconds(40)
  /// How often few open rows are looked at, and rows whose transactions were held are tried again.
  private static let pause: Duration = .milliseconds(200)
  private static let forgottenAfter: Duration = .seconds(900)

  private let wish: Wish
  private let dependencies: Dependencies
  private var queue: ImportQueue
  /// How many rows had a result before this run.
  package private(set) var earlier = 0
  private var lookedAt = ContinuousClock.now
  private var triedAt = ContinuousClock.now

  package init(_ rows: ImportRows, _ wish: Wish, _ dependencies: Dependencies) {
    (self.wish, self.dependencies) = (wish, dependencies)
    queue = ImportQueue(rows, round: wish.round)
  }

  /// Takes what earlier runs have finalized. It comes before ``run()``.
  ///
  /// - Throws: the error of the ledger.
  package func takeEarlier() async throws {
    while case let ids = queue.unknownIds(1000), !ids.isEmpty {
      queue.sort(ids, Set(try await dependencies.results(ids).keys))
    }
    earlier = queue.finished
  }

  /// Runs until the ledger has a result of each row, or until the run may not go on.
  ///
  /// - Throws: ``Stopped``, or the error of a server that has failed for ``patience``.
  package func run() async throws -> Ending {
    var (lastGood, lastRound) = (ContinuousClock.now, ContinuousClock.now)
    var allowed = 1.0
    while !queue.isDone {
      do {
        let standing = try await dependencies.standing()
        if standing == .yields { return .yielded }
        let now = ContinuousClock.now
        allowed = min(allowed + wish.pace * ((now - lastRound) / .seconds(1)), max(1, wish.pace))
        lastRound = now
        while standing == .ours, allowed >= 1, case let turns = queue.next(min(Int(allowed), Self.atOnce)),
          !turns.isEmpty
        {
          allowed -= Double(turns.count)
          let registrations = try await register(turns)
          // Apple is not asked about them, so the pace is not for them.
          allowed += Double(registrations.count { $0 == .signed })
          if registrations.contains(.limited) {
            allowed = 0
            break
          }
        }
        try await takeFinalized(at: now)
        if standing == .cancelled, queue.openIds.isEmpty { return .cancelled }
        lastGood = .now
      } catch let error as Stopped {
        throw error
      } catch {
        guard ContinuousClock.now - lastGood < Self.patience else { throw error }
        dependencies.failed(error)
        try await EventLoop.sleep(for: .seconds(2))
      }
      dependencies.tell(queue.finished)
      if !queue.isDone { try await EventLoop.sleep(for: Self.round) }
      if ContinuousClock.now - triedAt > Self.pause {
        triedAt = .now
        queue.tryHeld()
      }
    }
    return .finished
  }

  /// Takes what is finalized now.
  private func takeFinalized(at now: ContinuousClock.Instant) async throws {
    let open = queue.openIds
    guard !open.isEmpty, now - lookedAt > (open.count < 100 ? Self.pause : .seconds(1)) else { return }
    lookedAt = now
    queue.take(try await dependencies.results(open).keys)
    queue.tryOpen(since: now - Self.forgottenAfter)
  }

  // MARK: A registration

  /// The most rows that are registered at once. Each waits for Redis twice and for the broker's confirm, some
  /// milliseconds in all: one after the other, they would be a few hundred a second.
  private static let atOnce = 128

  /// What a registration means for the next ones.
  private enum Registration {
    /// Apple is asked about the row.
    case asking
    /// The row's signed transaction is enough.
    case signed
    /// A limit is reached, and the next ones must wait.
    case limited
  }

  /// Registers some rows at once.
  ///
  /// - Throws: the first error of a server, once all have ended.
  private func register(_ turns: [ImportQueue.Turn]) async throws -> [Registration] {
    try await turns.map { turn in Task.immediate { @LoopActor in try await register(turn) } }.allValues()
  }

  /// Registers a row.
  ///
  /// - Throws: the error of a server; the row then waits again.
  private func register(_ turn: ImportQueue.Turn) async throws -> Registration {
    let row = turn.row
    // After a failure the row waits again. What was claimed is under way: the sweep enqueues it.
    var answer = ImportQueue.Answer.later
    defer { queue.note(turn, answer, at: .now) }
    let job = Job(
      synchronizationId: row.synchronizationId(round: wish.round), publisherId: wish.publisherId,
      customerId: row.customerId, transactionId: row.transactionId, lane: .bulk,
      imported: wish.tells ? .told : .silent,
      // Most rows have none, and must not wait.
      signedTransaction: row.signedAt == nil ? nil : try await dependencies.signedTransaction(row),
      registeredAt: unixMilliseconds())
    switch try await dependencies.claim(job) {
    case .claimed:
      answer = .open
      try await dependencies.publish(job)
      try await dependencies.prolong(job)
    case .held(let holder) where holder.synchronizationId == job.synchronizationId:
      // An earlier run has registered it. The sweep enqueues it if no queue has its job.
      answer = .open
    case .replayed: answer = .open
    case .held: answer = .held
    case .limited: return .limited
    case .unknownCustomer, .unknownId, .idInUse:
      throw Stopped(description: "line \(row.line): its synchronization \(job.synchronizationId) is another's")
    }
    return job.signedTransaction == nil ? .asking : .signed
  }
}
