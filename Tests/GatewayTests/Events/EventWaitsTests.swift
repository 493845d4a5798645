import Domain
import EventLoop
import Ledger
import TestSupport
import Testing

@testable import Gateway

/// Waiting for events, without a ledger.
@LoopActor
struct EventWaitsTests {
  /// What the ledger is asked, and what it answers.
  @LoopActor
  private final class Ledger {
    var asked: [[PublisherId]] = []
    var answers: [Result<[Int], any Error>] = []

    func look(_ readers: [EventFeed.Reader]) throws -> [Int] {
      asked.append(readers.map(\.publisherId))
      return try answers.isEmpty ? [] : answers.removeFirst().get()
    }
  }

  private struct Away: Error {}

  private let ledger = Ledger()

  private func waits(most: Int = 8) -> EventWaits {
    EventWaits(most: most, every: .milliseconds(1)) { [ledger] in try ledger.look($0) }
  }

  @Test func `one look asks for all, and wakes those who have something`() async {
    let waits = waits()
    // The second look finds one, and the third one, which the first failure does not keep away, the other.
    ledger.answers = [.failure(Away()), .success([1]), .success([0, 7, -1])]
    async let one = waits.wait(1, .start, atMost: .patience)
    async let other = waits.wait(2, .start, atMost: .patience)
    let woken = await [one, other]
    #expect(woken == [true, true])
    #expect(ledger.answers.isEmpty)
  }

  @Test func `a wait ends with its time`() async {
    #expect(await !waits().wait(1, .start, atMost: .milliseconds(1)))
  }

  @Test func `nobody asks the ledger while nobody waits, and a later wait asks again`() async {
    let waits = waits()
    ledger.answers = [.success([0])]
    #expect(await waits.wait(1, .start, atMost: .patience))
    let looks = ledger.asked.count
    // Meanwhile somebody waits elsewhere, for several looks of the same interval.
    let other = Ledger()
    other.answers = [.success([]), .success([]), .success([]), .success([]), .success([0])]
    let others = EventWaits(most: 1, every: .milliseconds(1)) { try other.look($0) }
    #expect(await others.wait(2, .start, atMost: .patience))
    #expect(other.asked.count == 5 && ledger.asked.count == looks)
    ledger.answers = [.success([0])]
    #expect(await waits.wait(3, .start, atMost: .patience))
    #expect(ledger.asked.last == [3])
  }

  @Test func `a stop ends all waits, and nobody waits then`() async {
    let waits = waits()
    async let one = waits.wait(1, .start, atMost: .patience)
    async let other = waits.wait(2, .start, atMost: .patience)
    await Task.yield()
    waits.close()
    let woken = await [one, other]
    #expect(woken == [false, false])
    #expect(await !waits.wait(1, .start, atMost: .patience))
  }

  @Test func `most connections are for others`() {
    #expect([1, 8, 16, 4096, 100_000].map(EventWaits.most) == [1, 1, 2, 256, 256])
  }

  @Test func `one publisher leaves places to others`() {
    let waits = waits(most: 4)
    for _ in 0..<3 { #expect(waits.begin(of: 1)) }
    #expect(!waits.begin(of: 1) && waits.begin(of: 2) && !waits.begin(of: 3))
    #expect(waits.count == 4)
    waits.end(of: 1)
    #expect(waits.begin(of: 3))
  }
}
