import Domain
import EventLoop
import Formats
import Testing

@testable import Gateway

/// How much refused requests write.
@LoopActor
struct RefusalAllowanceTests {
  private static let (door, other) = (Door("m", asker: .customer), Door("c", asker: .customer))
  private let app = RefusalAllowance.Sender(Self.door, publisherId: 7, name: "com.a".exact)

  @Test func `a receipt is kept once a minute`() {
    let allowance = RefusalAllowance()
    // At last the clock was set back.
    let kept = [1000, 60_999, 61_000, 5].map { allowance.admits([1], of: app, now: $0) }
    #expect(kept == [true, false, true, true])
  }

  @Test func `a sender has ten a minute, and no other sender pays for them`() {
    let allowance = RefusalAllowance()
    let kept = (0..<100).filter { allowance.admits([UInt8($0)], of: app, now: 1000) }
    #expect(kept == Array(0..<10))
    let others = [
      RefusalAllowance.Sender(Self.door, publisherId: 7, name: "com.b".exact),
      RefusalAllowance.Sender(Self.door, publisherId: 8, name: "com.a".exact),
      RefusalAllowance.Sender(Self.other, publisherId: 7, name: "com.a".exact),
    ]
    let admitted = others.map { allowance.admits([1], of: $0, now: 1000) }
    #expect(admitted == [true, true, true])
    let later = allowance.admits([200], of: app, now: 61_000)
    #expect(later)
  }

  @Test func `the senders of the last minute are forgotten for new ones, and no others`() {
    let allowance = RefusalAllowance()
    func sender(_ number: Int) -> RefusalAllowance.Sender {
      RefusalAllowance.Sender(Self.other, publisherId: 7, name: "\(number)".exact)
    }
    for number in 0..<RefusalAllowance.mostSenders { _ = allowance.admits([1], of: sender(number), now: 1000) }
    let (crowd, known) = (sender(RefusalAllowance.mostSenders), sender(0))
    let answers = [
      allowance.admits([1], of: crowd, now: 60_999), allowance.admits([2], of: known, now: 60_999),
      allowance.admits([1], of: crowd, now: 61_000),
    ]
    #expect(answers == [false, true, true])
  }

  @Test func `times at the ends of the numbers do no harm`() {
    let allowance = RefusalAllowance()
    let kept = [Int64.max, Int64.min, Int64.max].map { allowance.admits([1], of: app, now: $0) }
    #expect(kept == [true, true, true])
  }
}
