import Testing
import Transport

@testable import Gateway

/// How many refused notifications an address may post.
struct NotificationPaceTests {
  private func source(_ text: String?) -> NotificationPace.Source { .init(text.flatMap { NetworkAddress($0) }) }

  @Test func `refused posts of 30 seconds may come at once`() {
    var pace = NotificationPace(refusedPerSecond: 10)
    let stranger = source("192.0.2.1")
    for _ in 0..<300 {
      #expect(pace.refusal(of: stranger, now: .zero) == nil)
      pace.noteRefused(stranger, now: .zero)
    }
    #expect(pace.refusal(of: stranger, now: .zero) == 1)
    #expect(pace.refusal(of: stranger, now: .milliseconds(99)) == 1)
    #expect(pace.refusal(of: stranger, now: .milliseconds(100)) == nil)
    // Further refusals of posts that were under way.
    for _ in 0..<25 { pace.noteRefused(stranger, now: .zero) }
    #expect(pace.refusal(of: stranger, now: .zero) == 3)
    #expect(pace.refusal(of: stranger, now: .seconds(3)) == nil)
    #expect(pace.refusal(of: source("192.0.2.2"), now: .zero) == nil)
  }

  @Test func `what Apple signed makes up for what was refused`() {
    var pace = NotificationPace(refusedPerSecond: 1)
    let apple = source("17.0.0.1")
    for _ in 0..<1000 {
      #expect(pace.refusal(of: apple, now: .zero) == nil)
      pace.noteRefused(apple, now: .zero)
      pace.noteTaken(apple)
    }
    // It makes up for the past, and not for what comes later.
    for _ in 0..<1000 { pace.noteTaken(apple) }
    for _ in 0..<30 { pace.noteRefused(apple, now: .zero) }
    #expect(pace.refusal(of: apple, now: .zero) == 1)
  }

  @Test func `all addresses of a site are one source, and so are all unknown ones`() {
    #expect(source("2001:db8:0:1::1") == source("2001:db8:0:1:ffff::2"))
    #expect(source("2001:db8:0:1::1") != source("2001:db8:0:2::1"))
    #expect(source("192.0.2.1") != source("192.0.2.2"))
    #expect(source(nil) == source("no address"))
    #expect(source(nil) != source("0.0.0.0"))
  }

  @Test func `a stranger with many addresses takes no memory, and has one pace with all of them`() {
    var pace = NotificationPace(refusedPerSecond: 1)
    func many(_ number: Int) -> NotificationPace.Source {
      source("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)")
    }
    for number in 0..<(NotificationPace.most + 500) { pace.noteRefused(many(number), now: .zero) }
    #expect(pace.count == NotificationPace.most + 1)
    #expect(pace.refusal(of: many(NotificationPace.most + 1000), now: .zero) != nil)
    #expect(pace.refusal(of: many(0), now: .zero) == nil)
    // Sources that have been silent give way.
    pace.noteRefused(many(NotificationPace.most + 1000), now: .seconds(600))
    #expect(pace.count == 1)
    #expect(pace.refusal(of: many(NotificationPace.most + 1000), now: .seconds(600)) == nil)
  }
}
