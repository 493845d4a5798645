import Testing

@testable import Chaos

/// The checker of `ops/chaos` sees every way in which a promise can be broken.
struct VerdictTests {
  /// Two synchronizations of one transaction, all as it should be.
  private var good: History {
    var history = History()
    for (number, id) in ["a", "b"].enumerated() {
      let time = Int64(1000 * (number + 1))
      history.registrations.append(
        History.Registration(id: id, transaction: "1", sentAt: time, answeredAt: time + 10, answer: .accepted))
      history.events.append(event(id, at: time + 300, version: Int64(number + 1)))
      history.webhooks.append(event(id, at: time + 400, version: 0))
      history.statuses[id] = History.Status(
        isFinalized: true, version: Int64(number + 1), result: "PURCHASE_SYNCHRONIZED")
    }
    history.registrations.append(
      History.Registration(id: "c", transaction: "1", sentAt: 1, answeredAt: 2, answer: .conflict))
    history.faults = ["something"]
    return history
  }

  private func event(
    _ id: String, at time: Int64 = 5000, version: Int64, event: String? = nil,
    result: String = "PURCHASE_SYNCHRONIZED"
  ) -> History.Event {
    History.Event(at: time, id: event ?? "e-\(id)", synchronizationId: id, version: version, result: result)
  }

  private func verdict(
    _ expectations: Verdict.Expectations = Verdict.Expectations(), _ change: (inout History) -> Void = { _ in }
  ) -> Verdict {
    var history = good
    change(&history)
    return Verdict(history, expectations)
  }

  @Test func whatIsRight() {
    let verdict = verdict()
    #expect(verdict.holds && verdict.problems.isEmpty)
    #expect(verdict.attempted == 3 && verdict.accepted == 2 && verdict.finalized == 2 && verdict.events == 2)
    #expect(verdict.longestDelay == 290)
    // At least once: the same event again harms nobody.
    #expect(self.verdict { $0.events.append(self.event("a", version: 1)) }.holds)
  }

  @Test func nothingToJudge() {
    #expect(!verdict { $0.registrations.removeAll { $0.answer == .accepted } }.holds)
    #expect(!verdict { $0.faults = [] }.holds)
    #expect(verdict(Verdict.Expectations(isUndisturbed: true)) { $0.faults = [] }.holds)
  }

  @Test func lost() {
    #expect(verdict { $0.events.removeFirst() }.lost == ["a"])
    #expect(!verdict { $0.webhooks.removeFirst() }.holds)
    // Of a wiped broker one witness is enough, and none is not.
    let wiped = Verdict.Expectations(losesQueues: true)
    #expect(verdict(wiped) { $0.events.removeFirst() }.holds)
    #expect(verdict(wiped) { $0.webhooks.removeFirst() }.holds)
    #expect(
      verdict(wiped) {
        $0.events.removeFirst()
        $0.webhooks.removeFirst()
      }.lost == ["a"])
  }

  @Test func twice() {
    #expect(!verdict { $0.events.append(self.event("a", version: 1, event: "other")) }.duplicated.isEmpty)
    #expect(!verdict { $0.events.append(self.event("a", version: 7)) }.duplicated.isEmpty)
    #expect(!verdict { $0.events.append(self.event("a", version: 1, result: "PURCHASE_REVOKED")) }.holds)
    #expect(!verdict { $0.webhooks.append(self.event("a", version: 0, event: "other")) }.duplicated.isEmpty)
    #expect(!verdict { $0.events[1] = self.event("b", version: 1) }.duplicated.isEmpty)
    let once = Verdict.Expectations(tellsOnce: true)
    #expect(!verdict(once) { $0.events.append(self.event("a", version: 1)) }.holds)
  }

  @Test func behind() {
    #expect(!verdict { $0.staleReads.append("a") }.holds)
    #expect(!verdict { $0.statuses["a"] = nil }.holds)
    #expect(!verdict { $0.statuses["a"] = History.Status(isFinalized: false, version: 0, result: "") }.holds)
    #expect(!verdict { $0.statuses["a"] = History.Status(isFinalized: true, version: 9, result: "") }.holds)
    #expect(verdict(Verdict.Expectations(forgetsStatuses: true)) { $0.statuses["a"] = nil }.holds)
  }

  @Test func outOfOrder() {
    let swapped: (inout History) -> Void = {
      ($0.events[0], $0.events[1]) = (self.event("a", version: 2), self.event("b", version: 1))
      ($0.statuses["a"], $0.statuses["b"]) = ($0.statuses["b"], $0.statuses["a"])
    }
    #expect(!verdict(Verdict.Expectations(), swapped).holds)
    #expect(verdict(Verdict.Expectations(forgetsStatuses: true), swapped).holds)
  }

  @Test func answers() {
    func answered(_ answer: History.Answer) -> (inout History) -> Void {
      {
        $0.registrations.append(
          History.Registration(id: "d", transaction: "2", sentAt: 1, answeredAt: 2, answer: answer))
      }
    }
    let strict = Verdict.Expectations(answersEverything: true)
    #expect(!verdict(Verdict.Expectations(), answered(.unexpected(500))).holds)
    #expect(verdict(Verdict.Expectations(), answered(.unknown)).holds)
    #expect(!verdict(strict, answered(.unknown)).holds && !verdict(strict, answered(.unavailable)).holds)
    #expect(verdict(strict, answered(.refused)).holds)
    #expect(!verdict { $0.stillClaimed["1"] = 409 }.holds)
    #expect(!verdict { $0.forgedWebhooks = 1 }.holds)
    #expect(!verdict { $0.events[0] = self.event("a", version: 1, result: "INTERNAL_ERROR") }.holds)
  }

  @Test func budget() {
    let limited = Verdict.Expectations(callsPerSecond: 2)
    func calls(_ times: [Int64]) -> (inout History) -> Void {
      { $0.calls = times.map { History.Call(time: $0, endpoint: "x") } }
    }
    #expect(verdict(limited, calls([0, 1, 500, 999, 1001])).holds)
    #expect(!verdict(limited, calls([0, 1, 500, 998, 999])).holds)
  }
}
