import Domain
import Testing

@testable import Notifier

/// For how long bursts have come.
struct BurstAgesTests {
  @Test func `a burst is as old as its first message after a break`() {
    var ages = BurstAges()
    #expect(ages.age(of: 1, at: .seconds(5)) == .zero)
    for second in 5...30 { ages.note(1, at: .seconds(second)) }
    #expect(ages.age(of: 1, at: .seconds(31)) == .seconds(26))
    let almost = Duration.seconds(30) + BurstPace.patience - .milliseconds(1)
    #expect(ages.age(of: 1, at: almost) == almost - .seconds(5))
    #expect(ages.age(of: 1, at: .seconds(30) + BurstPace.patience) == .zero)
    ages.note(1, at: .seconds(50))
    #expect(ages.age(of: 1, at: .seconds(51)) == .seconds(1))
  }

  @Test func `one publisher's burst makes no other's older`() {
    var ages = BurstAges()
    ages.note(1, at: .seconds(1))
    ages.note(2, at: .seconds(7))
    #expect(ages.age(of: 1, at: .seconds(8)) == .seconds(7) && ages.age(of: 2, at: .seconds(8)) == .seconds(1))
    #expect(ages.age(of: 3, at: .seconds(8)) == .zero)
  }

  @Test func `publishers whose bursts are over are forgotten`() {
    var ages = BurstAges()
    for number in 0..<1_000 { ages.note(PublisherId(Int64(number)), at: .zero) }
    #expect(ages.count == 1_000)
    ages.note(5_000, at: BurstPace.patience)
    #expect(ages.count == 1)
  }
}
