import Testing

@testable import Chaos

/// The checker of `ops/chaos` notices every way to break a promise.
struct VerdictTests {
  /// A history of two synchronizations of one transaction, without any mistake.
  private var good: History {
    var history = History()
    for (number, id) in ["a", "b"].enumerated() {
      let time = Int64(1000 * (number + 1))
      history.registrations.append(
        History.Registration(
          id: id, transaction: "100", customer: 7, sentAt: time, answeredAt: time + 10, answer: .accepted))
      history.events.append(event(id, at: time + 300, version: Int64(number + 1)))
      history.webhooks.append(event(id, at: time + 400, version: 0))
      history.statuses[id] = History.Status(
        isFinalized: true, version: Int64(number + 1), result: "PURCHASE_SYNCHRONIZED", offer: "S1")
    }
    history.registrations.append(
      History.Registration(id: "c", transaction: "100", sentAt: 1, answeredAt: 2, answer: .conflict))
    history.faults = ["something"]
    history.statusReads = 1
    history.ledgerReads = 1
    return history
  }

  private func event(
    _ id: String, at time: Int64 = 5000, version: Int64, event: String? = nil,
    result: String = "PURCHASE_SYNCHRONIZED"
  ) -> History.Event {
    History.Event(
      at: time, id: event ?? "e-\(id)", synchronizationId: id, version: version, result: result,
      offer: version > 0 && result == "PURCHASE_SYNCHRONIZED" ? "S1" : nil)
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
    // At least once: the same event again does no harm.
    #expect(self.verdict { $0.events.append(self.event("a", version: 1)) }.holds)
    // A synchronization without news about its purchase has the version of the one before it.
    let same = self.verdict {
      $0.events[1] = self.event("b", at: 2300, version: 1)
      $0.statuses["b"] = History.Status(isFinalized: true, version: 1, result: "PURCHASE_SYNCHRONIZED", offer: "S1")
    }
    #expect(same.holds)
  }

  @Test func nothingToJudge() {
    #expect(!verdict { $0.registrations.removeAll { $0.answer == .accepted } }.holds)
    #expect(!verdict { $0.faults = [] }.holds)
    #expect(verdict(Verdict.Expectations(isUndisturbed: true)) { $0.faults = [] }.holds)
  }

  @Test func repairedOrWaitedForInVain() {
    let repaired = verdict { $0.repairs = ["worker-1: 1 jobs were enqueued again by a sweep"] }
    #expect(repaired.problems == ["nothing was broken, and yet worker-1: 1 jobs were enqueued again by a sweep"])
    #expect(verdict { $0.vainWaits = ["the event of a is missing"] }.problems == ["the event of a is missing"])
  }

  /// A quick run excuses a sweep only where something breaks.
  @Test func quickExpectations() throws {
    for scenario in Scenario.all {
      let expectations = scenario.expectations(.quick)
      #expect(expectations.allowsSweep != expectations.isGraceful, "\(scenario.name)")
      #expect(scenario.sweepAfter(.quick) == (expectations.isGraceful ? 120 : 4), "\(scenario.name)")
    }
    let none = try #require(Scenario.all.first { $0.name == "none" })
    #expect(none.expectations(.quick).isUndisturbed)
  }

  @Test func lost() {
    #expect(verdict { $0.events.removeFirst() }.lost == ["a"])
    #expect(!verdict { $0.webhooks.removeFirst() }.holds)
    // After a wipe of the broker one witness is enough; no witness is a loss.
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
    #expect(!verdict { $0.events[1] = self.event("b", version: 1) }.holds)
    #expect(!verdict { $0.events[1] = self.event("b", version: 2, event: "e-a") }.duplicated.isEmpty)
    let otherBytes: (inout History) -> Void = {
      $0.events.append(self.event("a", version: 1))
      $0.events[2].body = [1]
    }
    #expect(!verdict(Verdict.Expectations(), otherBytes).duplicated.isEmpty)
    let once = Verdict.Expectations(isGraceful: true)
    #expect(!verdict(once) { $0.events.append(self.event("a", version: 1)) }.holds)
    #expect(!verdict(once) { $0.webhooks.append(self.event("a", version: 0)) }.holds)
  }

  @Test func withoutAnAnswer() {
    // The client got no promise, but a registration that takes effect must do so only once.
    let unanswered: (inout History) -> Void = {
      $0.registrations.append(
        History.Registration(id: "d", transaction: "1002", sentAt: 1, answeredAt: 2, answer: .unknown))
      $0.events.append(self.event("d", version: 3))
    }
    #expect(verdict(Verdict.Expectations(), unanswered).holds)
    #expect(
      !verdict {
        unanswered(&$0)
        $0.events.append(self.event("d", version: 4))
      }.duplicated.isEmpty)
  }

  @Test func behind() {
    #expect(!verdict { $0.staleReads.append("a") }.holds)
    #expect(!verdict { $0.statuses["a"] = nil }.holds)
    #expect(!verdict { $0.statuses["a"] = History.Status(isFinalized: false, version: 0, result: "") }.holds)
    #expect(!verdict { $0.statuses["a"] = History.Status(isFinalized: true, version: 9, result: "") }.holds)
    let other = History.Status(isFinalized: true, version: 1, result: "PURCHASE_REVOKED")
    #expect(!verdict { $0.statuses["a"] = other }.duplicated.isEmpty)
    // Redis has no finalized status to forget.
    let forgotten = verdict(Verdict.Expectations(forgetsClaims: true)) { $0.statuses["a"] = nil }
    #expect(!forgotten.holds && forgotten.finalized == 1)
  }

  @Test func outOfOrder() {
    let swapped: (inout History) -> Void = {
      ($0.events[0], $0.events[1]) = (self.event("a", version: 2), self.event("b", version: 1))
      ($0.statuses["a"], $0.statuses["b"]) = ($0.statuses["b"], $0.statuses["a"])
    }
    #expect(!verdict(Verdict.Expectations(), swapped).holds)
    // Without claims, only a client that has seen an event may rely on the order.
    let forgetful = Verdict.Expectations(forgetsClaims: true)
    #expect(verdict(forgetful, swapped).holds)
    #expect(
      !verdict(forgetful) {
        $0.events[0] = self.event("a", at: 1999, version: 2)
        $0.events[1] = self.event("b", version: 1)
        ($0.statuses["a"], $0.statuses["b"]) = ($0.statuses["b"], $0.statuses["a"])
      }.holds)
    // No claim separates two transactions of one purchase.
    let others: (inout History) -> Void = {
      swapped(&$0)
      for (number, transaction) in ["1057", "10597"].enumerated() {
        let old = $0.registrations[number]
        $0.registrations[number] = History.Registration(
          id: old.id, transaction: transaction, customer: 7, sentAt: old.sentAt, answeredAt: old.answeredAt,
          answer: .accepted)
        $0.events[number].offer = "S2"
        $0.statuses[old.id]!.offer = "S2"
      }
    }
    #expect(verdict(Verdict.Expectations(), others).holds)
    #expect(
      !verdict {
        others(&$0)
        $0.events[0] = self.event("a", at: 1999, version: 2)
        $0.events[0].offer = "S2"
      }.holds)
  }

  @Test func atTheEnd() {
    let last: (inout History) -> Void = {
      $0.lastRegistrations = [
        History.Registration(
          id: "z", transaction: "100", customer: 7, sentAt: 9000, answeredAt: 9001, answer: .accepted)
      ]
      $0.statuses["z"] = History.Status(isFinalized: true, version: 7, result: "PURCHASE_SYNCHRONIZED", offer: "S1")
      $0.webhooks.append(self.event("z", version: 0))
    }
    #expect(verdict(Verdict.Expectations(), last).lost == ["z"])
    let told = verdict {
      last(&$0)
      $0.events.append(self.event("z", version: 7))
    }
    #expect(told.holds && told.accepted == 2 && told.events == 2 && told.webhooks == 2)
  }

  @Test func broughtBack() {
    // A sweep before the event saved the synchronization; a later one only tells the event again.
    #expect(!verdict { $0.sweeps["a"] = 1200 }.holds)
    #expect(verdict { $0.sweeps["a"] = 1400 }.holds)
    #expect(verdict { $0.sweeps["c"] = 3 }.holds)
    #expect(verdict(Verdict.Expectations(allowsSweep: true)) { $0.sweeps["a"] = 1200 }.holds)
    // The way back of what a killed worker had from the line. Where no worker dies, nothing needs it.
    #expect(verdict { $0.sweptFromHands = ["a"] }.holds)
    #expect(!verdict(Verdict.Expectations(isGraceful: true)) { $0.sweptFromHands = ["a"] }.holds)
  }

  @Test func graceful() {
    let graceful = Verdict.Expectations(isGraceful: true)
    #expect(verdict(graceful).holds)
    #expect(!verdict(graceful) { $0.handedBack = 1 }.holds)
    #expect(verdict { $0.handedBack = 1 }.holds)
    #expect(!verdict(graceful) { $0.events[1] = self.event("b", at: 12_100, version: 2) }.holds)
  }

  @Test func tooLate() {
    let late = Verdict.Expectations(needsStaleRun: true)
    #expect(!verdict(late).holds)
    #expect(verdict(late) { $0.staleRuns = 1 }.holds)
    let tight = Verdict.Expectations(needsBudgetWait: true)
    #expect(!verdict(tight).holds)
    #expect(verdict(tight) { $0.budgetWaits = 1 }.holds)
    #expect(
      verdict(Verdict.Expectations(leastDelay: 290)).holds && !verdict(Verdict.Expectations(leastDelay: 291)).holds)
  }

  @Test func unseen() {
    // An unread number is not a zero.
    #expect(!verdict { $0.statusReads = 0 }.holds)
    #expect(!verdict { $0.ledgerReads = 0 }.holds)
    #expect(!verdict { $0.ledgerDifferences = ["a purchase without evidence"] }.holds)
    #expect(!verdict { $0.unreadMetrics = ["worker-1"] }.holds)
    #expect(!verdict { $0.lingeringClaims = ["100"] }.holds)
  }

  @Test func whatThePurchaseDeserves() {
    func told(_ result: String, offer: String?, transaction: String = "100") -> (inout History) -> Void {
      {
        let old = $0.registrations[0]
        $0.registrations[0] = History.Registration(
          id: "a", transaction: transaction, customer: old.customer, sentAt: old.sentAt, answeredAt: old.answeredAt,
          answer: .accepted)
        $0.events[0] = self.event("a", at: 1300, version: 1, result: result)
        $0.events[0].offer = offer
        $0.webhooks[0] = self.event("a", version: 0, result: result)
        $0.statuses["a"] = History.Status(isFinalized: true, version: 1, result: result, offer: offer)
      }
    }
    let any = Verdict.Expectations()
    #expect(verdict(any, told("PURCHASE_REVOKED", offer: nil, transaction: "1021")).holds)
    #expect(verdict(any, told("PURCHASE_SYNCHRONIZED", offer: "S2", transaction: "1051")).holds)
    // Access that the purchase does not give, another offer, access without an offer, and a refusal of the owner.
    #expect(!verdict(any, told("PURCHASE_SYNCHRONIZED", offer: "S1", transaction: "1021")).holds)
    #expect(!verdict(any, told("PURCHASE_SYNCHRONIZED", offer: "S1", transaction: "1051")).holds)
    #expect(!verdict(any, told("PURCHASE_SYNCHRONIZED", offer: nil)).holds)
    #expect(!verdict(any, told("PURCHASE_REVOKED", offer: "S1", transaction: "1021")).holds)
    #expect(!verdict(any, told("PURCHASE_OWNED_BY_ANOTHER_CUSTOMER", offer: nil)).holds)
    #expect(!verdict { $0.statuses["a"]!.offer = "S2" }.holds)
  }

  @Test func oneOwner() {
    let another: (inout History) -> Void = {
      let old = $0.registrations[1]
      $0.registrations[1] = History.Registration(
        id: "b", transaction: "100", customer: 8, sentAt: old.sentAt, answeredAt: old.answeredAt, answer: .accepted)
    }
    let refused: (inout History) -> Void = {
      another(&$0)
      let result = "PURCHASE_OWNED_BY_ANOTHER_CUSTOMER"
      $0.events[1] = self.event("b", at: 2300, version: 2, result: result)
      $0.webhooks[1] = self.event("b", version: 0, result: result)
      $0.statuses["b"] = History.Status(isFinalized: true, version: 2, result: result)
    }
    #expect(!verdict(Verdict.Expectations(), another).holds)
    #expect(verdict(Verdict.Expectations(), refused).holds)
    // Redis has no owners to forget.
    let forgetful = Verdict.Expectations(forgetsClaims: true)
    #expect(!verdict(forgetful, another).holds && verdict(forgetful, refused).holds)
    // Somebody owns a purchase that belongs to another customer.
    let nobody: (inout History) -> Void = {
      for number in 0..<2 {
        let old = $0.registrations[number]
        $0.registrations[number] = History.Registration(
          id: old.id, transaction: number == 0 ? "1057" : "10597", customer: old.customer + number,
          sentAt: old.sentAt, answeredAt: old.answeredAt, answer: .accepted)
        let result = "PURCHASE_OWNED_BY_ANOTHER_CUSTOMER"
        $0.events[number] = self.event(old.id, at: 2300, version: 2, result: result)
        $0.webhooks[number] = self.event(old.id, version: 0, result: result)
        $0.statuses[old.id] = History.Status(isFinalized: true, version: 2, result: result)
      }
    }
    #expect(!verdict(Verdict.Expectations(), nobody).holds)
  }

  @Test func answers() {
    func answered(_ answer: History.Answer) -> (inout History) -> Void {
      {
        $0.registrations.append(
          History.Registration(id: "d", transaction: "1002", sentAt: 1, answeredAt: 2, answer: answer))
      }
    }
    let strict = Verdict.Expectations(isGraceful: true)
    #expect(!verdict(Verdict.Expectations(), answered(.unexpected(500))).holds)
    #expect(verdict(Verdict.Expectations(), answered(.unknown)).holds)
    #expect(!verdict(strict, answered(.unknown)).holds && !verdict(strict, answered(.unavailable)).holds)
    #expect(verdict(strict, answered(.refused)).holds)
    #expect(!verdict { $0.stillClaimed["100"] = "conflict" }.holds)
    #expect(!verdict { $0.forgedWebhooks = 1 }.holds)
    let givenUp: (inout History) -> Void = {
      $0.events[0] = self.event("a", version: 1, result: "INTERNAL_ERROR")
      $0.webhooks[0] = self.event("a", version: 0, result: "INTERNAL_ERROR")
      $0.statuses["a"] = History.Status(isFinalized: true, version: 1, result: "INTERNAL_ERROR")
    }
    #expect(!verdict(Verdict.Expectations(), givenUp).holds)
    #expect(verdict(Verdict.Expectations(exceptions: ["a": ["INTERNAL_ERROR"]]), givenUp).holds)
  }

  private func calls(_ times: [Int64], _ environment: String = "production") -> (inout History) -> Void {
    { $0.calls = times.map { History.Call(time: $0, environment: environment, endpoint: "x", transaction: "100") } }
  }

  @Test func budget() {
    let limited = Verdict.Expectations(callsPerSecond: 2)
    // The budget of one second at once, the calls that come up to 0.75 seconds late, and one for the rounding.
    #expect(verdict(limited, calls([0, 1, 2, 3])).holds)
    #expect(!verdict(limited, calls([0, 1, 2, 3, 4])).holds)
    // Before and after that, only the calls that the budget refills.
    #expect(verdict(limited, calls((0..<60).map { $0 * 500 } + [29_501, 29_502])).holds)
    #expect(!verdict(limited, calls((0..<60).map { $0 * 400 })).holds)
    #expect(verdict(limited, calls([0, 1], "sandbox")).holds)
    #expect(!verdict(limited, calls([0, 1, 2], "sandbox")).holds)
  }

  @Test func forbiddenCalls() {
    func after429(_ times: [Int64]) -> Verdict {
      verdict {
        self.calls([0] + times)(&$0)
        $0.calls[0].retryAt = 3000
      }
    }
    // Calls under way may still arrive. After them no call may come before the time that Apple has named.
    #expect(after429([500, 999, 3000]).holds)
    #expect(!after429([1000]).holds && !after429([2999]).holds)
    // A 429 to a call under way makes the pause longer.
    let longer = verdict {
      self.calls([0, 500, 3200])(&$0)
      $0.calls[0].retryAt = 3000
      $0.calls[1].retryAt = 3500
    }
    #expect(!longer.holds)
    // The fleet cannot know a 429 whose connection was reset for the sake of another call.
    func reset(at time: Int64, _ connection: Int) -> Verdict {
      verdict {
        self.calls([0, time, 2000])(&$0)
        ($0.calls[0].retryAt, $0.calls[0].connection) = (3000, 7)
        ($0.calls[1].isReset, $0.calls[1].connection) = (true, connection)
      }
    }
    #expect(reset(at: 999, 7).holds)
    #expect(!reset(at: 1000, 7).holds && !reset(at: 999, 8).holds)
  }
}
