import Domain
import EventLoop
import Formats
import Testing

@testable import Gateway

/// How much refused requests write.
@LoopActor
struct RefusalAllowanceTests {
  private static let (door, other) = (Door("m", asker: .customer), Door("c", asker: .customer))
  private let app = RefusalAllowance.Sender(Self.door, publisherId: 7, name: ExactText("com.a"))

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
      RefusalAllowance.Sender(Self.door, publisherId: 7, name: ExactText("com.b")),
      RefusalAllowance.Sender(Self.door, publisherId: 8, name: ExactText("com.a")),
      RefusalAllowance.Sender(Self.other, publisherId: 7, name: ExactText("com.a")),
    ]
    let admitted = others.map { allowance.admits([1], of: $0, now: 1000) }
    #expect(admitted == [true, true, true])
    let later = allowance.admits([200], of: app, now: 61_000)
    #expect(later)
  }

  @Test func `the senders of the last minute are forgotten for new ones, and no others`() {
    let allowance = RefusalAllowance()
    for number in 0..<Self.mostOfOne { _ = allowance.admits([1], of: sender(number), now: 1000) }
    let (crowd, known) = (sender(Self.mostOfOne), sender(0))
    let answers = [
      allowance.admits([1], of: crowd, now: 59_999), allowance.admits([2], of: known, now: 60_999),
      allowance.admits([1], of: crowd, now: 61_000),
    ]
    #expect(answers == [false, true, true])
  }

  @Test func `a crowd of one publisher's senders leaves room for another publisher's`() {
    let allowance = RefusalAllowance()
    let first = (0..<RefusalAllowance.mostSenders).filter { allowance.admits([1], of: sender($0), now: 1000) }
    #expect(first.count == Self.mostOfOne)
    let rest = RefusalAllowance.mostSenders - Self.mostOfOne
    let second = (0...rest).filter { allowance.admits([1], of: sender($0, publisher: 8), now: 1000) }
    #expect(second.count == rest)
    // A minute later all of them are forgotten, and the counts too.
    let again = (20_000..<30_000).filter { allowance.admits([1], of: sender($0), now: 61_000) }
    #expect(again.count == Self.mostOfOne)
  }

  @Test func `senders are forgotten at most once a second`() {
    let allowance = RefusalAllowance()
    for number in 0..<Self.mostOfOne { _ = allowance.admits([1], of: sender(number), now: 1000 + Int64(number % 2)) }
    // The first look forgets one half. So many come instead, and the next look is a second later.
    let half = (0...Self.mostOfOne / 2).filter { allowance.admits([1], of: sender(10_000 + $0), now: 61_000) }
    #expect(half.count == Self.mostOfOne / 2)
    let answers = [61_999, 62_000].map { allowance.admits([1], of: sender(20_000), now: $0) }
    #expect(answers == [false, true])
  }

  private static let mostOfOne = RefusalAllowance.mostSenders / 4 * 3

  private func sender(_ number: Int, publisher: PublisherId = 7) -> RefusalAllowance.Sender {
    RefusalAllowance.Sender(Self.other, publisherId: publisher, name: ExactText("\(number)"))
  }

  @Test func `times at the ends of the numbers do no harm`() {
    let allowance = RefusalAllowance()
    let kept = [Int64.max, Int64.min, Int64.max].map { allowance.admits([1], of: app, now: $0) }
    #expect(kept == [true, true, true])
  }
}
