import EventLoop
import Formats
import Testing

@testable import Gateway

/// How many forged receipts the audit log keeps.
@LoopActor
struct ForgeryAllowanceTests {
  private let app = ForgeryAllowance.App(publisherId: 7, bundleId: "com.a".exact)

  @Test func `a receipt is kept once a minute`() {
    let allowance = ForgeryAllowance()
    // At last the clock was set back.
    let kept = [1000, 60_999, 61_000, 5].map { allowance.admits([1], of: app, now: $0) }
    #expect(kept == [true, false, true, true])
  }

  @Test func `an app has ten a minute, and no other app pays for them`() {
    let allowance = ForgeryAllowance()
    let kept = (0..<100).filter { allowance.admits([UInt8($0)], of: app, now: 1000) }
    #expect(kept == Array(0..<10))
    let others = [
      ForgeryAllowance.App(publisherId: 7, bundleId: "com.b".exact),
      ForgeryAllowance.App(publisherId: 8, bundleId: "com.a".exact),
    ]
    let admitted = others.map { allowance.admits([1], of: $0, now: 1000) }
    #expect(admitted == [true, true])
    let later = allowance.admits([200], of: app, now: 61_000)
    #expect(later)
  }
}
