import Domain
import Testing

@testable import Ledger

/// What to do about a delivery, by what the ledger has of it.
struct DeliveryStateTests {
  private func state(attempt: Int = 2, _ change: (inout DeliveryState.Facts) -> Void) -> DeliveryState {
    var facts = DeliveryState.Facts(attempt: attempt)
    change(&facts)
    return DeliveryState(facts)
  }

  @Test(arguments: [
    (1, DeliveryState.open), (2, .open), (3, .made(.failed, nextAt: 77)), (4, .superseded),
  ])
  func `the row tells the next attempt`(next: Int, expected: DeliveryState) {
    #expect(state { $0.row = (next, 77) } == expected)
  }

  @Test func `without a row the log and the event decide`() {
    #expect(state { $0.isUnseen = true } == .open)
    #expect(state { _ in } == .open)
    for result in [DeliveryAttempt.Result.delivered, .abandoned, .skipped] {
      let made = state { facts in
        facts.isKnownEvent = true
        facts.logged = (2, result, nil)
      }
      #expect(made == .made(result, nextAt: nil))
    }
    // Another round has delivered the event since.
    let failed = state { facts in
      facts.isKnownEvent = true
      facts.logged = (2, .failed, 77)
    }
    #expect(failed == .superseded)
    #expect(state { $0.logged = (2, .failed, 77) } == .made(.failed, nextAt: 77))
    #expect(state { $0.logged = (3, .failed, 77) } == .superseded)
  }

  @Test(arguments: [1, 2]) func `a missing row alone ends no delivery`(attempt: Int) {
    #expect(state(attempt: attempt) { $0.isKnownEvent = true } == .open)
    let delivered = state(attempt: attempt) { facts in
      facts.isKnownEvent = true
      facts.wasDelivered = true
    }
    #expect(delivered == .superseded)
  }

  @Test(arguments: [
    (DeliveryAttempt.Result.failed, DeliveryState.open), (.abandoned, .superseded), (.skipped, .superseded),
    (.delivered, .superseded),
  ])
  func `only a failed attempt leads to the next one`(last: DeliveryAttempt.Result, expected: DeliveryState) {
    let next = state { facts in
      facts.isKnownEvent = true
      facts.logged = (1, last, 77)
    }
    #expect(next == expected)
  }

  @Test func `a delivery without a row needs one, if the ledger has its event`() {
    var facts = DeliveryState.Facts()
    #expect(!facts.lacksRow)
    facts.isKnownEvent = true
    #expect(facts.lacksRow)
    facts.isUnseen = true
    #expect(!facts.lacksRow)
    (facts.isUnseen, facts.row) = (false, (1, 77))
    #expect(!facts.lacksRow)
  }

  @Test func `a deleted or disabled endpoint gets no attempt, and the end of an earlier one still counts`() {
    #expect(state { $0.hasEndpoint = false } == .gone)
    #expect(state { $0.isDisabled = true } == .disabled)
    let made = state { facts in
      facts.row = (3, 77)
      facts.isDisabled = true
    }
    #expect(made == .made(.failed, nextAt: 77))
  }
}
