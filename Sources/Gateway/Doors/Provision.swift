import Coordination
import Domain
import EventLoop
import Ledger
import Observability
import Postgres
import Service

/// Gives access while Apple is away: on evidence that is verified here, for a time, and only if a run has failed for a
/// reason that is Apple's or the network's.
///
/// ``ProvisionRules`` decides. The looks run beside the request: none of them holds its answer.
@LoopActor
struct Provision {
  /// Tells milliseconds since 1970.
  let now: @LoopActor () -> Int64
  /// How far a synchronization is, and why its last run failed.
  let progress: @LoopActor (PublisherId, SynchronizationId) async throws -> (Synchronization.Status?, RetryCause?)
  /// Gives access on evidence until a time; `nil` if nobody may get it.
  let grant: @LoopActor (Job, Evidence, _ until: Int64, Publisher) async throws -> Told?
  let publish: @LoopActor (consuming Told) -> Void
  let looks: ProvisionLooks
  let log: Log

  /// A job, and the evidence that may give access to its purchase.
  private typealias Waiting = (job: Job, piece: Evidence)

  /// Begins to look at jobs that have not ended, and returns at once.
  ///
  /// - Parameters:
  ///   - isAwaited: whether the caller still waits for its answer.
  ///   - onGrant: called for each job whose customer got access.
  func begin(
    _ open: [(job: Job, purchase: LocalPurchase)], _ request: DoorRequest, isAwaited: Bool,
    onGrant: @escaping @LoopActor (Job) -> Void = { _ in }
  ) {
    guard !open.isEmpty, request.customerId != nil, let evidence = request.evidence,
      let rule = request.publisher.grantWhileAppleIsAway
    else { return }
    let rules = ProvisionRules(rule, evidenceCreatedAt: evidence.createdAt)
    guard rules.isFresh(at: now()) else { return }
    let waiting: [Waiting] = open.compactMap { job, purchase in
      evidence.piece(of: purchase).map { (job: job, piece: $0) }
    }
    guard !waiting.isEmpty else { return }
    let publisher = request.publisher
    looks.begin(waiting.count, of: publisher.id) {
      await look(waiting, publisher, rules, ProvisionRules.pauses(isAwaited: isAwaited), onGrant)
    }
  }

  private func look(
    _ jobs: [Waiting], _ publisher: Publisher, _ rules: ProvisionRules, _ pauses: [Duration],
    _ onGrant: @LoopActor (Job) -> Void
  ) async {
    var waiting = jobs
    for pause in pauses where !waiting.isEmpty {
      guard await looks.pause(pause) else { return }
      var rest: [Waiting] = []
      for (job, piece) in waiting {
        switch await look(at: job, piece, publisher, rules) {
        case .granted: onGrant(job)
        case .again: rest.append((job, piece))
        case .over: break
        }
      }
      waiting = rest
    }
  }

  private enum Found { case granted, again, over }

  /// Looks at one job once.
  private func look(
    at job: Job, _ piece: Evidence, _ publisher: Publisher, _ rules: ProvisionRules
  ) async -> Found {
    do {
      let (status, cause) = try await progress(job.publisherId, job.synchronizationId)
      let until: Int64
      switch rules.step(status, cause, now: now()) {
      case .wait: return .again
      case .end: return .over
      case .grant(let end): until = end
      }
      guard let told = try await grant(job, piece, until, publisher) else { return .over }
      log.info(
        "access while Apple is away",
        [
          "publisherId": .int(job.publisherId.number), "synchronizationId": .string(job.synchronizationId.text),
          "transactionId": .string(job.transactionId.text),
        ])
      looks.noteGrant()
      publish(told)
      return .granted
    } catch {
      log.warning("no access while Apple is away", ["cause": .failure(error)])
      return .again
    }
  }
}

extension Provision {
  /// That of a gateway.
  init(_ parts: GatewayParts) {
    let (context, open, access) = (parts.context, parts.open, ProvisionalAccess(parts.ledger.postgres))
    self.init(
      now: context.now, progress: { try await open.progress($0, $1) },
      grant: { try await access.grant($0, $1, until: $2, publisher: $3, now: context.now()) },
      publish: { [outlet = parts.outlet] in outlet.publish($0) }, looks: parts.looks, log: context.log)
  }
}
