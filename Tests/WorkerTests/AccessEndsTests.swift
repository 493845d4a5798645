import Domain
import EventLoop
import Ledger
import RoleSupport
import Testing

@testable import Service
@testable import Worker

/// The looks at access by hand whose time is over.
@LoopActor
struct AccessEndsTests {
  private final class LedgerByValue {
    var ended: [String] = []
    var isAway = false
  }

  private final class Due<Ending> {
    var rows: [Ending]
    init(_ rows: [Ending]) { self.rows = rows }
  }

  private let bench: ChoreBench
  private let ledger = LedgerByValue()

  init() throws { bench = try ChoreBench() }

  private func grant(_ id: GrantId, of publisherId: PublisherId = 7) -> Grant {
    Grant(
      id: id, customer: CustomerKey(publisherId: publisherId, id: "42"), offerId: "O", reason: .goodwill,
      createdAt: 0, endsAt: bench.context.now() - 1)
  }

  private func sandboxAccess(of customer: CustomerId) -> SandboxOverride {
    SandboxOverride(
      customer: CustomerKey(publisherId: 7, id: customer), endsAt: bench.context.now() - 1, reason: .testing, setAt: 0)
  }

  private func take(_ due: Grant...) async { await take(due, .grants) { $0.id.text } }

  private func take<Ending: EndingAccess>(
    _ due: [Ending], _ kind: AccessEnds<Ending>.Kind, name: @escaping @Sendable (Ending) -> String
  ) async {
    let due = Due(due)
    let ends = AccessEnds<Ending>(
      AccessEnds<Ending>.Dependencies(
        context: bench.context, kind: kind,
        takeDue: { _, _ in
          defer { due.rows = [] }
          return due.rows
        },
        end: { [ledger] ending, _ in
          if ledger.isAway { throw AppleByValue.Lost() }
          ledger.ended.append(name(ending))
          return Told([ChoreBench.event(EventId("evt_\(name(ending))"))])
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

  @Test func `the end of sandbox access is committed, told and counted, and its run names no customer`() async {
    await take([sandboxAccess(of: "ann"), sandboxAccess(of: "ben")], .sandboxAccess) { $0.customer.id.text }
    #expect(ledger.ended.sorted() == ["ann", "ben"])
    #expect(bench.published.count == 2)
    #expect(bench.counts("countersign_sandbox_access_lag_seconds_count 2"))
    let runs = bench.counts.begins.flatMap(\.self)
    #expect(Set(runs).count == 2 && runs.allSatisfy { $0.hasPrefix("sandbox_access:7:") })
    #expect(!runs.contains { $0.contains("ann") || $0.contains("ben") })
  }
}
