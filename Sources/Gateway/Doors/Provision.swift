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
  let context: RoleContext
  let open: OpenSynchronizations
  let postgres: PostgresClient
  let outlet: EventOutlet
  let looks: ProvisionLooks

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
    guard rules.isFresh(at: context.now()) else { return }
    let waiting: [Waiting] = open.compactMap { job, purchase in
      evidence.piece(of: purchase).map { (job: job, piece: $0) }
    }
    guard !waiting.isEmpty, looks.begin(waiting.count, of: request.publisher.id) else { return }
    let publisher = request.publisher
    Task.immediate { @LoopActor in
      await look(waiting, publisher, rules, ProvisionRules.pauses(isAwaited: isAwaited), onGrant)
      looks.end(waiting.count, of: publisher.id)
    }
  }

  private func look(
    _ jobs: [Waiting], _ publisher: Publisher, _ rules: ProvisionRules, _ pauses: [Duration],
    _ onGrant: @LoopActor (Job) -> Void
  ) async {
    var waiting = jobs
    for pause in pauses where !waiting.isEmpty {
      if pause > .zero { guard (try? await EventLoop.sleep(for: pause)) != nil else { return } }
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
      let (status, cause) = try await open.progress(job.publisherId, job.synchronizationId)
      let now = context.now()
      let until: Int64
      switch rules.step(status, cause, now: now) {
      case .wait: return .again
      case .end: return .over
      case .grant(let end): until = end
      }
      let told = try await ProvisionalAccess(postgres).grant(job, piece, until: until, publisher: publisher, now: now)
      guard let told else { return .over }
      context.log.info(
        "access while Apple is away",
        [
          "publisherId": .int(job.publisherId.number), "synchronizationId": .string(job.synchronizationId.text),
          "transactionId": .string(job.transactionId.text),
        ])
      looks.noteGrant()
      outlet.publish(told)
      return .granted
    } catch {
      context.log.warning("no access while Apple is away", ["cause": .failure(error)])
      return .again
    }
  }
}
