import Domain
import HTTPServer
import Testing

@testable import Gateway

/// How many notifications an address may post.
struct NotificationPaceTests {
  private func source(_ address: String?, _ publisher: PublisherId? = nil) -> NotificationPace.Source {
    .init(address: AddressGroup(address), publisher: publisher)
  }

  /// Uses up the pace of a source, with the post that is read all the same.
  private func exhaust(_ pace: inout NotificationPace, _ source: NotificationPace.Source, now: Duration = .zero) {
    for _ in 0..<300 { pace.noteRefused(source, bytes: 100, now: now) }
    #expect(pace.refusal(of: source, now: now) == nil)
    #expect(pace.refusal(of: source, now: now) != nil)
  }

  @Test func `refused posts of 30 seconds may come at once`() {
    var pace = NotificationPace(refusedPerSecond: 10)
    let stranger = source("192.0.2.1")
    for _ in 0..<300 {
      #expect(pace.refusal(of: stranger, now: .zero) == nil)
      pace.noteRefused(stranger, bytes: 100, now: .zero)
    }
    // One is read all the same.
    #expect(pace.refusal(of: stranger, now: .zero) == nil)
    #expect(pace.refusal(of: stranger, now: .zero) == 1)
    #expect(pace.refusal(of: stranger, now: .milliseconds(99)) == 1)
    #expect(pace.refusal(of: stranger, now: .milliseconds(100)) == nil)
    // Further refusals of posts that were under way.
    for _ in 0..<25 { pace.noteRefused(stranger, bytes: 100, now: .zero) }
    #expect(pace.refusal(of: stranger, now: .zero) == 3)
    #expect(pace.refusal(of: stranger, now: .seconds(3)) == nil)
    #expect(pace.refusal(of: source("192.0.2.2"), now: .zero) == nil)
  }

  @Test func `above the pace one post a second is read all the same`() {
    var pace = NotificationPace(refusedPerSecond: 10)
    let sender = source("192.0.2.1")
    for _ in 0..<1000 { pace.noteRefused(sender, bytes: 100, now: .zero) }
    var read = 0
    for tenth in 0..<100 where pace.refusal(of: sender, now: .milliseconds(100 * tenth)) == nil { read += 1 }
    #expect(read == 10)
  }

  @Test func `one publisher's wrong secret holds up its own posts only`() {
    var pace = NotificationPace(refusedPerSecond: 10)
    exhaust(&pace, source("17.0.0.1", 1001))
    #expect(pace.refusal(of: source("17.0.0.1", 1002), now: .zero) == nil)
    #expect(pace.refusal(of: source("17.0.0.1"), now: .zero) == nil)
  }

  @Test func `the paths of many publishers are no way around the pace`() {
    var pace = NotificationPace(refusedPerSecond: 10)
    var posts = 0
    while posts < 100_000, pace.refusal(of: source("192.0.2.1", PublisherId(Int64(posts % 1000))), now: .zero) == nil {
      pace.noteRefused(source("192.0.2.1", PublisherId(Int64(posts % 1000))), bytes: 100, now: .zero)
      posts += 1
    }
    // Twenty times what one path admits, and the one that is read all the same.
    #expect(posts == 6001)
    #expect(pace.refusal(of: source("192.0.2.2"), now: .zero) == nil)
  }

  @Test func `what is Apple's and new makes up for what was refused`() {
    var pace = NotificationPace(refusedPerSecond: 10)
    let apple = source("17.0.0.1")
    for _ in 0..<1000 {
      #expect(pace.refusal(of: apple, now: .zero) == nil)
      pace.noteRefused(apple, bytes: 100, now: .zero)
      pace.noteTaken(apple, bytes: 8000, now: .zero)
      pace.noteNew(apple)
    }
    // It makes up for the past, and not for what comes later.
    for _ in 0..<1000 { pace.noteNew(apple) }
    exhaust(&pace, apple)
  }

  @Test func `a repeat of what is Apple's makes up for nothing`() {
    var pace = NotificationPace(refusedPerSecond: 10)
    let stranger = source("192.0.2.1")
    for _ in 0..<300 {
      pace.noteRefused(stranger, bytes: 100, now: .zero)
      pace.noteTaken(stranger, bytes: 8000, now: .zero)
    }
    #expect(pace.refusal(of: stranger, now: .zero) == nil)
    #expect(pace.refusal(of: stranger, now: .zero) == 1)
  }

  @Test(arguments: [(bytes: 100, posts: 120_000), (bytes: 2 << 20, posts: 938)])
  func `what is Apple's has a pace too, a wide one, by its size`(_ bytes: Int, _ posts: Int) {
    var pace = NotificationPace(refusedPerSecond: 10)
    let sender = source("17.0.0.1")
    for _ in 0..<posts {
      #expect(pace.refusal(of: sender, now: .zero) == nil)
      pace.noteTaken(sender, bytes: bytes, now: .zero)
    }
    _ = pace.refusal(of: sender, now: .zero)
    #expect(pace.refusal(of: sender, now: .zero) != nil)
    #expect(pace.refusal(of: sender, now: .seconds(2)) == nil)
    #expect(pace.refusal(of: source("17.0.0.2"), now: .zero) == nil)
  }

  /// A hoster gives 48 bits to one customer: 65,536 networks of 64 bits.
  private func network(_ number: Int, _ publisher: PublisherId? = nil) -> NotificationPace.Source {
    source("2001:db8:1:\(String(number, radix: 16))::1", publisher)
  }

  @Test(arguments: [nil, 1001] as [PublisherId?])
  func `a network of 48 bits posts twice as much as one of 64`(_ publisher: PublisherId?) {
    var pace = NotificationPace(refusedPerSecond: 10)
    var read = 0
    for round in 0..<10 {
      for number in 0..<300 where pace.refusal(of: network(number, publisher), now: .zero) == nil {
        pace.noteRefused(network(number, publisher), bytes: 100, now: .zero)
        read += 1
        #expect(round < 3)
      }
    }
    // Twice the 300 of one address; and twice the one that is read all the same.
    #expect(read == 602)
    #expect(pace.refusal(of: network(65_535, publisher), now: .zero) == 1)
    // Above it, two a second of the whole network.
    for number in 0..<1000 { pace.noteRefused(network(number, publisher), bytes: 100, now: .zero) }
    #expect((0..<300).filter { pace.refusal(of: network($0, publisher), now: .seconds(1)) == nil }.count == 2)
    #expect(pace.refusal(of: source("2001:db8:2::1", publisher), now: .zero) == nil)
    #expect(pace.refusal(of: source("192.0.2.1", publisher), now: .zero) == nil)
  }

  @Test func `what is Apple's counts for the network of 48 bits too`() {
    var pace = NotificationPace(refusedPerSecond: 10)
    var read = 0
    while read < 300_000, pace.refusal(of: network(read % 5000), now: .zero) == nil {
      pace.noteTaken(network(read % 5000), bytes: 1, now: .zero)
      read += 1
    }
    // Twice ten minutes of 200 a second, and the two that are read all the same.
    #expect(read == 240_002)
  }

  @Test func `refused posts count by their size`() {
    var pace = NotificationPace(refusedPerSecond: 10)
    let stranger = source("192.0.2.1")
    var read = 0
    while read < 300, pace.refusal(of: stranger, now: .zero) == nil {
      pace.noteRefused(stranger, bytes: 2 << 20, now: .zero)
      read += 1
    }
    // Each counts as 128, and one more is read all the same.
    #expect(read == 4)
    #expect(pace.refusal(of: stranger, now: .zero) == 22)
  }

  @Test(arguments: [(bytes: 16_384, posts: 120_000), (bytes: 16_385, posts: 60_000)])
  func `more than 16 KiB counts as several posts`(_ bytes: Int, _ posts: Int) {
    var pace = NotificationPace(refusedPerSecond: 10)
    for _ in 0..<posts { pace.noteTaken(source("17.0.0.1"), bytes: bytes, now: .zero) }
    #expect(pace.refusal(of: source("17.0.0.1"), now: .zero) == nil)
    #expect(pace.refusal(of: source("17.0.0.1"), now: .zero) != nil)
  }

  @Test func `strangers with many addresses take no memory, and spend nothing of others`() {
    var pace = NotificationPace(refusedPerSecond: 10)
    let most = KeyedPace<AddressGroup>.most
    func many(_ number: Int) -> NotificationPace.Source {
      source("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)", 1001)
    }
    for number in 0..<(most + 6500) { pace.noteRefused(many(number), bytes: 100, now: .zero) }
    #expect(pace.count == most + 1)
    #expect(pace.refusal(of: many(0), now: .zero) == nil)
    // All addresses for whom there is no more room share one wide pace.
    _ = pace.refusal(of: many(most + 7000), now: .zero)
    #expect(pace.refusal(of: many(most + 7000), now: .zero) != nil)
    // Addresses that have been silent give way.
    pace.noteRefused(many(most + 7000), bytes: 100, now: .seconds(600))
    pace.noteTaken(many(most + 7000), bytes: 1, now: .seconds(600))
    #expect(pace.refusal(of: many(most + 7000), now: .seconds(600)) == nil)
  }
}
