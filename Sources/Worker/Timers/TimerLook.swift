import AppStore
import Configuration
import Coordination
import Domain
import EventLoop
import Formats
import Glibc
import Ledger
import Observability
import Service

/// One look at a purchase whose timer is due: asks Apple, and lets the ledger decide.
@LoopActor
struct TimerLook {
  let due: DuePurchase
  let publisher: Publisher
  let dependencies: TimerRuns.Dependencies
  let metrics: TimerMetrics
  let log: Log

  /// How long a look waits for its budget before it gives its place to another.
  private static let patience = Duration.seconds(5)

  init(_ due: DuePurchase, of publisher: Publisher, _ dependencies: TimerRuns.Dependencies, _ metrics: TimerMetrics) {
    (self.due, self.publisher, self.dependencies, self.metrics) = (due, publisher, dependencies, metrics)
    log = dependencies.context.log.with([
      "publisherId": .int(due.key.publisherId.number),
      "originalTransactionId": .string(due.key.originalTransactionId.text),
      "environment": .string(due.key.environment.text),
    ])
  }

  private var now: Int64 { dependencies.context.now() }

  func run() async {
    metrics.lag.observe(Double(max(0, now.subtracting(due.dueAt))) / 1000)
    let (evidence, answer) = await ask()
    metrics.looks.count(answer.label)
    if let fatal = dependencies.context.faults.crashLook, due.key.originalTransactionId == fatal { abort() }
    do {
      let told = try await dependencies.apply(
        PurchaseUpdate(due.key, evidence, from: .timer(answer.answer), publisher: publisher))
      dependencies.publish(told)
    } catch {
      log.warning("a look could not be committed", ["cause": .failure(error)])
    }
  }

  private func ask() async -> ([Evidence], TimerAnswer) {
    guard publisher.timer.needsApple(due.kind, due.productId, purchaseDate: due.purchaseDate, now: now) else {
      return ([], .own)
    }
    let place = dependencies.places(publisher).first {
      $0.app.bundleId == due.bundleId && $0.environment == due.key.environment
    }
    guard let place else {
      log.warning("no app to ask with", ["bundleId": .string(due.bundleId.text)])
      return ([], .noApp)
    }
    let endpoint = due.kind == .autoRenewable ? AppStoreEndpoint.subscriptionStatuses : .transactionInfo
    switch await takeCall(endpoint, at: place) {
    case .granted(let grant):
      let made = await PurchaseVerification(
        lookingAt: due, in: place, grant: grant, with: dependencies.verification, log
      ).make()
      return judge(made)
    case .wait(let wait): return ([], .postponed(.budget, wait, now: now))
    case nil: return ([], .storeUnavailable)
    }
  }

  private func judge(_ made: PurchaseVerification.Attempt) -> ([Evidence], TimerAnswer) {
    switch made.result {
    case .unknownTransaction: log.warning("Apple does not know a purchase of the ledger")
    case .rejected(let code):
      log.error("Apple's answer about a purchase was not accepted", ["result": .string(code.rawValue)])
    case .verified, .refused, .brokenPublisher, .failed, .postponed: break
    }
    return (made.evidence, .after(made.result, now: now))
  }

  /// Takes one of the calls that nobody waits for; `nil` while Redis is away.
  private func takeCall(_ endpoint: AppStoreEndpoint, at place: AppPlace) async -> CallAnswer? {
    let end = ContinuousClock.now + Self.patience
    while true {
      let budget = dependencies.verification.budget
      guard let answer = try? await budget.takeCall(place.call, only: endpoint.rawValue, .later) else { return nil }
      guard case .wait(let wait) = answer else { return answer }
      guard .now + wait < end, (try? await EventLoop.sleep(for: wait)) != nil else { return .wait(wait) }
    }
  }
}
