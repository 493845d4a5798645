import Domain
import EventLoop
import Formats
import Testing

@testable import AppStore
@testable import Ledger
@testable import Service
@testable import Worker

/// The looks at purchases whose timers are due.
@LoopActor
struct TimerTests {
  private final class LedgerByValue {
    var due: [DuePurchase] = []
    var turns: [TimerTaking.Turn] = []
    var updates: [PurchaseUpdate] = []
    var isAway = false
    var oldest: Int64?

    var answers: [PurchaseUpdate.Answer?] {
      updates.map { if case .timer(let answer) = $0.source { answer } else { nil } }
    }
  }

  private let bench: ChoreBench
  private let ledger = LedgerByValue()

  init() throws { bench = try ChoreBench() }

  private func due(
    _ id: OriginalTransactionId = "100", kind: ProductKind = .autoRenewable, app: BundleId = "com.example"
  ) -> DuePurchase {
    DuePurchase(
      key: PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: id),
      transactionId: id.firstTransaction, bundleId: app, productId: "monthly", kind: kind,
      purchaseDate: AppleByValue.now - AppleByValue.day,
      dueAt: AppleByValue.now)
  }

  private func runs() throws -> TimerRuns {
    TimerRuns(
      TimerRuns.Dependencies(
        context: bench.context,
        takeDue: { [ledger] turn in
          ledger.turns.append(turn)
          if ledger.isAway { throw AppleByValue.Lost() }
          defer { ledger.due = [] }
          return ledger.due
        },
        oldestDue: { [ledger] _ in
          if ledger.isAway { throw AppleByValue.Lost() }
          return ledger.oldest
        },
        apply: { [ledger] update in
          if ledger.isAway { throw AppleByValue.Lost() }
          ledger.updates.append(update)
          return Told([ChoreBench.event("evt_\(update.key.originalTransactionId)")])
        }, publish: { [bench] in bench.publish($0) }, verification: try bench.apple.verification(),
        places: { [bench] in bench.places($0) }, rows: bench.rows, isReady: { true }))
  }

  @Test func `the oldest timer that waits is told, and a ledger that is away changes nothing`() async throws {
    let runs = try runs()
    ledger.oldest = 0
    await runs.lookAtBacklog()
    #expect(!bench.counts("countersign_timer_backlog_seconds 0"))
    ledger.isAway = true
    ledger.oldest = nil
    await runs.lookAtBacklog()
    #expect(!bench.counts("countersign_timer_backlog_seconds 0"))
    ledger.isAway = false
    await runs.lookAtBacklog()
    #expect(bench.counts("countersign_timer_backlog_seconds 0"))
  }

  /// Takes what is due, and waits for the looks.
  private func take(_ due: DuePurchase...) async throws {
    ledger.due = due
    let runs = try runs()
    await runs.take()
    await runs.stop(within: .seconds(120))
  }

  @Test func `what Apple signs about a due purchase is committed and told`() async throws {
    let signed = try bench.apple.signed()
    bench.apple.answers[.statuses(.production)] = try bench.apple.status(.active, latest: signed)
    try await take(due())
    #expect(ledger.answers == [.told])
    #expect(ledger.updates.first?.evidence.isEmpty == false)
    #expect(bench.published == ["evt_100"])
    #expect(bench.counts(#"countersign_timer_looks_total{outcome="told"} 1"#))
    #expect(bench.counts.begun.isEmpty)
  }

  @Test func `Apple that does not know a purchase proves nothing`() async throws {
    try await take(due())
    #expect(ledger.answers == [.unknown])
    #expect(ledger.updates.first?.evidence.isEmpty == true)
  }

  @Test func `without an app, without Redis and without a publisher nobody asks`() async throws {
    try await take(due(app: "com.other"))
    #expect(ledger.answers == [.away(until: nil)])
    #expect(bench.counts(#"countersign_timer_looks_total{outcome="no_app"} 1"#))

    bench.apple.isStoreAway = true
    try await take(due())
    #expect(ledger.answers == [.away(until: nil), .away(until: nil)])
    #expect(bench.apple.calls.isEmpty)

    bench.context.use(bench.context.settings, Publishers([]))
    try await take(due())
    #expect(ledger.updates.count == 2)
  }

  @Test func `a budget that is used up puts the look off`() async throws {
    bench.apple.spent = [.statuses(.production)]
    ledger.due = [due()]
    let runs = try runs()
    let before = bench.context.now()
    await runs.take()
    await runs.stop(within: .seconds(120))
    guard case .away(until: let until?)? = ledger.answers.first ?? nil else {
      Issue.record("\(ledger.answers)")
      return
    }
    #expect(until >= before + 7000)
  }

  @Test func `a ledger that is away costs the look and nothing else`() async throws {
    ledger.isAway = true
    try await take(due())
    #expect(ledger.updates.isEmpty && bench.published.isEmpty)
    ledger.isAway = false
    try await take(due())
    #expect(ledger.updates.count == 1)
  }

  // MARK: By value

  @Test func `a turn takes a quarter of the places, and none when all are taken`() {
    var (taking, one) = (TimerTaking(places: 8), TimerTaking(places: 1))
    let turns = [0, 7, 8].map { taking.turn(of: [bench.publisher], running: $0)?.most }
    #expect(turns == [2, 1, nil])
    let least = one.turn(of: [bench.publisher], running: 0)
    #expect(least?.most == 1)
  }

  @Test func `of many publishers each turn has a part, and soon all had one`() {
    let all = (1...1200).map { id in
      Publisher(
        id: PublisherId(id), customers: .open, tokenHashes: [], customerTokens: nil,
        apps: [bench.apple.app("com.app\(id)")],
        offers: OfferCatalog([]), webhooks: [])
    }
    var taking = TimerTaking(places: 8)
    let turns = (0..<3).compactMap { _ in taking.turn(of: all, running: 0) }
    #expect(turns.map(\.publishers.count) == [500, 500, 200] && turns.map(\.isLast) == [false, false, true])
    #expect(Set(turns.flatMap(\.publishers).map(\.publisherId)) == Set((1...1200).map { PublisherId($0) }))
    #expect(turns.allSatisfy { Set($0.apps.map(\.app.publisherId)) == Set($0.publishers.map(\.publisherId)) })
  }

  @Test func `an app that holds its part of the places gets no more`() {
    var taking = TimerTaking(places: 8)
    let other = Publisher(
      id: 8, customers: .open, tokenHashes: [], customerTokens: nil, apps: [bench.apple.app("com.other")],
      offers: OfferCatalog([]), webhooks: [])
    for _ in 0..<4 { taking.begin(due()) }
    let turn = taking.turn(of: [bench.publisher, other], running: 4)
    #expect(turn?.publishers.map(\.publisherId) == [8])
    #expect(turn?.apps.map(\.app.bundleId) == ["com.other"])
    taking.end(due())
    let next = taking.turn(of: [bench.publisher, other], running: 3)
    #expect(next?.publishers.count == 2)
  }

  @Test func `each result has its label and its answer`() {
    let (now, none) = (AppleByValue.now, PurchaseUpdate.Answer.away(until: nil))
    func answer(_ result: AttemptResult) -> TimerAnswer { .after(result, now: now) }
    #expect(answer(.verified) == TimerAnswer(label: "told", answer: .told))
    #expect(answer(.unknownTransaction) == TimerAnswer(label: "unknown", answer: .unknown))
    #expect(answer(.rejected(.appMismatch)) == TimerAnswer(label: "rejected", answer: none))
    #expect(
      answer(.brokenPublisher(wait: .seconds(1))) == TimerAnswer(label: "publisher_broken", answer: none))
    #expect(answer(.refused(wait: .seconds(1))) == TimerAnswer(label: "unauthorized", answer: none))
    #expect(answer(.failed(.timeout)) == TimerAnswer(label: "timeout", answer: none))
    #expect(
      answer(.postponed(.budget, wait: .seconds(7)))
        == TimerAnswer(label: "budget", answer: .away(until: now + 7000)))
    #expect(answer(.postponed(.budget, wait: .zero)).answer == .away(until: now + 1000))
  }
}
