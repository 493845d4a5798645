import Testing

@testable import Notifier

/// When a sweep of deliveries may look.
struct SweepPatienceTests {
  private let start = ContinuousClock.now

  private func mayLook(_ patience: inout SweepPatience, _ isReady: Bool = true, after seconds: Double) -> Bool {
    patience.mayLook(isReady: isReady, at: start + .seconds(seconds))
  }

  @Test func `a sweep waits until the ledger has answered for the whole time`() {
    var patience = SweepPatience(.seconds(60))
    #expect(!mayLook(&patience, after: 0))
    #expect(!mayLook(&patience, after: 59))
    #expect(mayLook(&patience, after: 60))
    #expect(mayLook(&patience, after: 600))
  }

  @Test func `after an outage of the ledger the whole time begins anew`() {
    var patience = SweepPatience(.seconds(60))
    #expect(!mayLook(&patience, after: 0))
    #expect(!mayLook(&patience, false, after: 100))
    #expect(!mayLook(&patience, after: 101))
    #expect(!mayLook(&patience, after: 160))
    #expect(mayLook(&patience, after: 161))
  }
}
