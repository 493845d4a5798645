import AppStore
import Configuration
import Domain
import EventLoop
import Formats
import Ledger
import Observability
import Service
import Store

/// Looks at purchases whose timers are due: asks Apple, and lets the ledger decide.
///
/// A due timer becomes a job of the worker that takes it. No message carries it: the ledger has it, knows whether a
/// notification has made it needless, and gives out the latest ends first (decision 0026).
@LoopActor
final class TimerRuns {
  private let context: RoleContext
  private let timers: Timers
  private let ledger: Commits
  private let outlet: EventOutlet
  private let verification: PurchaseVerification.Dependencies
  private let places: @LoopActor (Publisher) -> [AppPlace]
  private let metrics: TimerMetrics
  private let runs = RunningTasks()
  private var turnsOfPublishers: FairTurns<Int64>
  private var turnsOfApps: FairTurns<AppName>
  private var timer: LoopTimer?
  private var lookTimer: LoopTimer?
  private var isTaking = false

  private struct AppName: Hashable {
    let publisherId: Int64
    let bundleId: ExactText
  }

  /// How often a worker looks for due timers.
  private static let interval = Duration.seconds(1)
  /// How often it looks while there are any. Each time it takes a quarter of its places at most: a burst of looks would
  /// keep registrations waiting.
  private static let shortInterval = Duration.milliseconds(100)
  /// How often it looks how late the timers are.
  private static let lookInterval = Duration.seconds(30)
  /// How long a run waits for its budget before it gives its place to another.
  private static let patience = Duration.seconds(5)

  init(
    _ context: RoleContext, _ timers: Timers, _ ledger: Commits, _ outlet: EventOutlet,
    _ verification: PurchaseVerification.Dependencies, places: @escaping @LoopActor (Publisher) -> [AppPlace]
  ) {
    self.context = context
    self.timers = timers
    self.ledger = ledger
    self.outlet = outlet
    self.verification = verification
    self.places = places
    turnsOfPublishers = FairTurns(places: context.settings.worker.timerConcurrency, part: 2)
    turnsOfApps = FairTurns(places: context.settings.worker.timerConcurrency, part: 4)
    metrics = TimerMetrics(context.metrics, now: context.now) { [runs] in Double(runs.count) }
  }

  func start() {
    let timer = LoopTimer { [weak self] in self?.take() }
    timer.start(after: Self.interval * Double.random(in: 0.5...1), every: Self.interval)
    self.timer = timer
    let lookTimer = LoopTimer { [weak self] in self?.lookAtBacklog() }
    lookTimer.start(after: Self.interval, every: Self.lookInterval)
    self.lookTimer = lookTimer
  }

  /// Takes no more timers.
  func close() {
    timer?.close()
    lookTimer?.close()
    (timer, lookTimer) = (nil, nil)
    runs.close()
  }

  /// Finishes the running looks. Another worker takes what is left when its lease ends.
  func finish(within grace: Duration) async { await runs.finish(within: grace) }

  /// Whether the ledger can be asked. The worker sets it.
  var isReady: @LoopActor () -> Bool = { false }

  // MARK: Taking

  private func take() {
    let places = context.settings.worker.timerConcurrency
    let free = min(max(1, places / 4), places - runs.count)
    guard free > 0, !isTaking, !runs.isClosed, isReady() else { return }
    isTaking = true
    Task.immediate { @LoopActor in
      defer { isTaking = false }
      do {
        let due = try await timers.takeDue(apps(free), of: publishers(free), limit: free)
        for purchase in due { start(purchase) }
        if !due.isEmpty { timer?.start(after: Self.shortInterval, every: Self.interval) }
      } catch {
        context.log.ledgerFailure("due timers could not be taken", error)
      }
    }
  }

  private func publishers(_ free: Int) -> [Timers.PublisherShare] {
    turnsOfPublishers.shares(of: context.publishers.all.map(\.id), free: free).map {
      Timers.PublisherShare(publisherId: $0.name, most: $0.most)
    }
  }

  private func apps(_ free: Int) -> [Timers.Share] {
    turnsOfApps.shares(of: allApps, free: free).map {
      Timers.Share(publisherId: $0.name.publisherId, bundleId: $0.name.bundleId.text, most: $0.most)
    }
  }

  private var allApps: [AppName] {
    context.publishers.all.flatMap { publisher in
      publisher.apps.map { AppName(publisherId: publisher.id, bundleId: $0.bundleId.exact) }
    }
  }

  /// It looks also where no timer may be taken: somebody must see that nobody takes them.
  private func lookAtBacklog() {
    guard isReady() else { return }
    Task.immediate { @LoopActor in
      do {
        metrics.note(oldest: try await timers.oldestDue(of: allApps.map { ($0.publisherId, $0.bundleId.text) }))
      } catch {
        context.log.ledgerFailure("the oldest due timer could not be read", error)
      }
    }
  }

  private func start(_ due: DuePurchase) {
    let app = AppName(publisherId: due.key.publisherId, bundleId: due.bundleId.exact)
    turnsOfPublishers.begin(app.publisherId)
    turnsOfApps.begin(app)
    runs.start { [self] in
      await look(due)
      turnsOfPublishers.end(app.publisherId)
      turnsOfApps.end(app)
    }
  }

  // MARK: One look

  private func look(_ due: DuePurchase) async {
    // Without the publisher's file nobody may decide. Its timers stay.
    guard let publisher = context.publishers[due.key.publisherId] else { return }
    metrics.lag.observe(Double(max(0, context.now().subtracting(due.dueAt))) / 1000)
    let log = context.log.with([
      "publisherId": .int(due.key.publisherId), "originalTransactionId": .string(due.key.originalTransactionId),
      "environment": .string(due.key.environment),
    ])
    let (evidence, answer) = await ask(due, publisher, log)
    do {
      let events = try await ledger.apply(
        PurchaseUpdate(due.key, evidence, from: .timer(answer), publisher: publisher))
      outlet.publish(events)
    } catch {
      log.warning("a look could not be committed", ["cause": .failure(error)])
    }
  }

  private func ask(_ due: DuePurchase, _ publisher: Publisher, _ log: Log) async -> ([Evidence], PurchaseUpdate.Answer)
  {
    guard
      publisher.timer.needsApple(due.kind, due.productId, purchaseDate: due.purchaseDate, now: context.now())
    else { return noted("own", [], .told) }
    let place = places(publisher).first {
      $0.app.bundleId.exact == due.bundleId.exact && $0.environment.rawValue.exact == due.key.environment.exact
    }
    guard let place else {
      log.warning("no app to ask with", ["bundleId": .string(due.bundleId)])
      return noted("no_app", [], .away(until: nil))
    }
    let endpoint = due.kind == .autoRenewable ? AppStoreEndpoint.subscriptionStatuses : .transactionInfo
    switch await takeCall(endpoint, at: place) {
    case .granted(let grant):
      let finding = await PurchaseVerification(lookingAt: due, in: place, grant: grant, with: verification, log)
        .finding()
      return judge(finding, log)
    case .wait(let wait):
      return noted("budget", [], .away(until: context.now() + max(1000, Int64(wait.wholeMilliseconds))))
    case nil: return noted("store_unavailable", [], .away(until: nil))
    }
  }

  private func judge(_ finding: PurchaseVerification.Finding, _ log: Log) -> ([Evidence], PurchaseUpdate.Answer) {
    switch finding.outcome {
    case .verified: return noted("told", finding.evidence, .told)
    case .unknownTransaction:
      log.warning("Apple does not know a purchase of the ledger")
      return noted("unknown", [], .unknown)
    case .rejected(let result):
      log.error("Apple's answer about a purchase was not accepted", ["result": .string(result.rawValue)])
      return noted("rejected", [], .away(until: nil))
    case .refused: return noted(RetryCause.unauthorized.rawValue, [], .away(until: nil))
    case .failed(let cause): return noted(cause.rawValue, [], .away(until: nil))
    case .postponed(let cause, let wait):
      return noted(cause.rawValue, [], .away(until: context.now() + max(1000, Int64(wait.wholeMilliseconds))))
    }
  }

  private func noted(
    _ outcome: String, _ evidence: [Evidence], _ answer: PurchaseUpdate.Answer
  ) -> ([Evidence], PurchaseUpdate.Answer) {
    metrics.looks.count(outcome)
    return (evidence, answer)
  }

  /// Takes a call out of the timers' part of the budget, and then out of the whole; `nil` while Redis is away.
  private func takeCall(_ endpoint: AppStoreEndpoint, at place: AppPlace) async -> CallAnswer? {
    let end = ContinuousClock.now + Self.patience
    for budget in [place.background, place.call] {
      while true {
        guard let answer = try? await verification.budget.takeCall(budget, only: endpoint.rawValue) else { return nil }
        guard case .wait(let wait) = answer else {
          if budget.name.exact == place.call.name.exact { return answer }
          break
        }
        guard .now + wait < end, (try? await EventLoop.sleep(for: wait)) != nil else { return .wait(wait) }
      }
    }
    return nil
  }
}
