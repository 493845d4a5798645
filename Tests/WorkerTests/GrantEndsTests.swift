import Domain
import EventLoop
import Ledger
import RoleSupport
import Testing

@testable import Service
@testable import Worker

/// The looks at grants whose time is over.
@LoopActor
struct GrantEndsTests {
  private final class LedgerByValue {
    var due: [Grant] = []
    var ended: [String] = []
    var isAway = false
  }

  private let bench: ChoreBench
  private let ledger = LedgerByValue()

  init() throws { bench = try ChoreBench() }

  private func grant(_ id: GrantId, of publisherId: Int64 = 7) -> Grant {
    Grant(
      id: id, customer: CustomerKey(publisherId: publisherId, id: "42"), offerId: "O", reason: .goodwill,
      createdAt: 0, endsAt: bench.context.now() - 1)
  }

  private func take(_ due: Grant...) async {
    ledger.due = due
    let ends = GrantEnds(
      GrantEnds.Dependencies(
        context: bench.context,
        takeDue: { [ledger] _, _ in
          defer { ledger.due = [] }
          return ledger.due
        },
        end: { [ledger] grant, _ in
          if ledger.isAway { throw AppleByValue.Lost() }
          ledger.ended.append(grant.id.text)
          return Told([ChoreBench.event(EventId("evt_\(grant.id.text)"))])
        }, publish: { [bench] in bench.publish($0) }, rows: bench.rows, isReady: { true }))
    await ends.take()
    await ends.stop(within: .seconds(120))
  }

  @Test func `the end of a grant is committed, told and counted`() async {
    await take(grant("g1"), grant("g2"))
    #expect(ledger.ended.sorted() == ["g1", "g2"])
    #expect(bench.published.count == 2)
    #expect(bench.counts("countersign_grant_lag_seconds_count 2"))
    #expect(bench.counts.begins.sorted { $0[0] < $1[0] } == [["grant:7:g1"], ["grant:7:g2"]])
    #expect(bench.counts.begun.isEmpty)
  }

  @Test func `without the publisher's file nobody decides`() async {
    await take(grant("g1", of: 8))
    #expect(ledger.ended.isEmpty && bench.published.isEmpty)
  }

  @Test func `a ledger that is away leaves the grant to its lease`() async {
    ledger.isAway = true
    await take(grant("g1"))
    #expect(bench.published.isEmpty)
    #expect(bench.counts("countersign_grant_lag_seconds_count 0"))
  }

  @Test func `a grant that has killed six workers is held back, and the others end`() async {
    bench.counts.begun = ["grant:7:g1": 6]
    await take(grant("g1"), grant("g2"))
    #expect(ledger.ended == ["g2"])
    #expect(bench.counts(#"countersign_suspect_rows_held_back_total{kind="grant"} 1"#))
  }
}
