import EventLoop
import Observability
import Testing

@testable import Notifier

/// When a notifier looks after the log of attempts, and when a sweep of deliveries may look.
@LoopActor
struct AttemptLogTests {
  private struct Away: Error {}

  private let now = ContinuousClock.now

  @Test func `the log is looked after at once, and every ten minutes`() {
    var turn = AttemptLogTurn()
    #expect(turn.isDue(at: now))
    turn.begin(at: now)
    #expect(!turn.isDue(at: now) && !turn.isDue(at: now + .seconds(599)) && turn.isDue(at: now + .seconds(600)))
  }

  @Test func `a failure is tried again after ten seconds, and a missing day at once`() {
    var turn = AttemptLogTurn()
    turn.begin(at: now)
    turn.fail(at: now)
    #expect(!turn.isDue(at: now + .seconds(9)) && turn.isDue(at: now + .seconds(10)))
    turn.begin(at: now)
    turn.hasten()
    #expect(turn.isDue(at: now))
  }

  @Test func `a look that fails leaves the log to the next one`() async {
    var looks: [String] = []
    var answers: [Result<(created: Int, dropped: Int)?, Away>] = [.success((2, 0)), .success(nil), .failure(Away())]
    let log = AttemptLog(
      AttemptLog.Dependencies(
        keep: {
          looks.append("look")
          return try answers.removeFirst().get()
        }, isReady: { true }, log: Log(level: .error)))
    for _ in 0..<3 { await log.look() }
    #expect(looks.count == 3 && answers.isEmpty)
    await log.stop(within: .zero)
  }

  @Test func `a sweep waits until the ledger has answered for as long as a delivery may be overdue`() {
    var patience = SweepPatience(.seconds(30))
    let early = [0, 29].map { patience.mayLook(isReady: true, at: now + .seconds($0)) }
    let ready = patience.mayLook(isReady: true, at: now + .seconds(30))
    #expect(early == [false, false] && ready)
    // After an outage, the time begins anew.
    let away = patience.mayLook(isReady: false, at: now + .seconds(31))
    let back = [32, 61, 62].map { patience.mayLook(isReady: true, at: now + .seconds($0)) }
    #expect(!away && back == [false, false, true])
  }
}
