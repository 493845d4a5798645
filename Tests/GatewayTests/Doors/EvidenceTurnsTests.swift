import Domain
import HTTPServer
import Testing

@testable import Gateway

/// Whose text is read next, and who gives way.
struct EvidenceTurnsTests {
  private static let greedy = "192.0.2.1"
  private static let modest = "192.0.2.2"

  private func turns(atOnce: Int = 1, texts: Int = 1000, bytes: Int = 1_000_000) -> EvidenceTurns {
    EvidenceTurns(EvidenceTurns.Limits(atOnce: atOnce, most: .init(texts: texts, bytes: bytes)))
  }

  private func source(_ publisher: PublisherId, _ address: String = greedy) -> EvidenceTurns.Source {
    EvidenceTurns.Source(publisher: publisher, address: AddressGroup(address))
  }

  /// Adds texts that all have to get in, the first one of an empty line as the one that is read.
  private func put(
    _ ids: some Sequence<Int>, bytes: Int = 1, _ source: EvidenceTurns.Source, _ turns: inout EvidenceTurns
  ) {
    for id in ids {
      let verdict = turns.add(id, bytes: bytes, of: source)
      #expect(verdict == .reads || verdict == .waits(refusing: []), "\(id)")
    }
  }

  /// The order in which the texts are read behind the one that is read now.
  private func order(_ turns: inout EvidenceTurns, behind first: Int) -> [Int] {
    var (order, last) = ([Int](), first)
    while let next = turns.end(last) {
      order.append(next)
      last = next
    }
    return order
  }

  // MARK: Turns

  @Test func `so many texts are read at once, and the next one when one of them ends`() {
    var turns = turns(atOnce: 2)
    #expect(turns.add(1, bytes: 1, of: source(1)) == .reads)
    #expect(turns.add(2, bytes: 1, of: source(1)) == .reads)
    #expect(turns.add(3, bytes: 1, of: source(1)) == .waits(refusing: []))
    #expect(turns.waiting == 1)
    #expect(turns.end(2) == 3)
    #expect(turns.waiting == 0)
    #expect(turns.end(3) == nil)
    #expect(turns.end(1) == nil)
    // Both threads are free again, and no third one is.
    put([4, 5], source(2), &turns)
    #expect(turns.add(6, bytes: 1, of: source(2)) == .waits(refusing: []))
  }

  @Test func `a second end of a text frees nothing`() {
    var turns = turns()
    put([1, 2, 3], source(1), &turns)
    #expect(turns.end(1) == 2)
    #expect(turns.end(1) == nil)
    #expect(turns.end(9) == nil)
    #expect(turns.add(4, bytes: 1, of: source(1)) == .waits(refusing: []))
    #expect(order(&turns, behind: 2) == [3, 4])
  }

  @Test func `an address has the oldest first`() {
    var turns = turns()
    put(1...5, source(1), &turns)
    #expect(order(&turns, behind: 1) == [2, 3, 4, 5])
  }

  @Test func `publishers take turns, one text each`() {
    var turns = turns()
    put(1...5, source(1), &turns)
    put(11...12, source(2, Self.modest), &turns)
    put([21], source(3), &turns)
    #expect(order(&turns, behind: 1) == [2, 11, 21, 3, 12, 4, 5])
  }

  @Test func `a publisher that comes back waits for the others' turn`() {
    var turns = turns()
    put(1...3, source(1), &turns)
    put([11], source(2), &turns)
    #expect(turns.end(1) == 2)
    #expect(turns.end(2) == 11)
    put([12], source(2), &turns)
    #expect(order(&turns, behind: 11) == [3, 12])
  }

  @Test func `networks of a publisher's clients take turns, and within them their addresses`() {
    var turns = turns()
    // Two networks of 64 bits within one of 48 bits.
    put(1...4, source(1, "2001:db8:1:1::1"), &turns)
    put(11...13, source(1, "2001:db8:1:2::1"), &turns)
    put(21...23, source(1, Self.modest), &turns)
    #expect(order(&turns, behind: 1) == [2, 21, 11, 22, 3, 23, 12, 4, 13])
  }

  @Test func `many addresses of one network have one turn`() {
    var turns = turns()
    for number in 1...50 { put([number], source(1, "2001:db8:1:\(number)::1"), &turns) }
    put([100, 101], source(1, "2001:db8:2::1"), &turns)
    #expect(order(&turns, behind: 1).prefix(4) == [2, 100, 3, 101])
  }

  @Test func `clients whose address is not known are one`() {
    var turns = turns()
    put(1...3, EvidenceTurns.Source(publisher: 1, address: AddressGroup(nil)), &turns)
    put([11], source(1), &turns)
    #expect(order(&turns, behind: 1) == [2, 11, 3])
  }

  // MARK: Shares

  @Test func `an address has a quarter of the line, a network half, a publisher three quarters`() {
    var turns = turns(texts: 16)
    put(0..<4, source(1, "2001:db8:1:1::1"), &turns)
    #expect(turns.add(4, bytes: 1, of: source(1, "2001:db8:1:1::2")) == .refused(.addressShare))
    put(4..<8, source(1, "2001:db8:1:2::1"), &turns)
    #expect(turns.add(8, bytes: 1, of: source(1, "2001:db8:1:2::1")) == .refused(.addressShare))
    put(8..<12, source(1, "192.0.2.3"), &turns)
    #expect(turns.add(12, bytes: 1, of: source(1, "2001:db8:1:1::1")) == .refused(.publisherShare))
    put(12..<16, source(2), &turns)
    #expect(turns.add(16, bytes: 1, of: source(2)) == .refused(.addressShare))
    #expect(turns.add(16, bytes: 1, of: source(1, "2001:db8:1:1::1")) == .refused(.full))
    #expect(turns.waiting == 15)
  }

  @Test func `the same shares count for bytes`() {
    var turns = turns(bytes: 1600)
    put(0..<4, bytes: 100, source(1), &turns)
    #expect(turns.add(4, bytes: 1, of: source(1)) == .refused(.addressShare))
    put([4], bytes: 400, source(1, Self.modest), &turns)
    put([5], bytes: 400, source(1, "192.0.2.3"), &turns)
    #expect(turns.add(6, bytes: 400, of: source(1, "192.0.2.4")) == .refused(.publisherShare))
    put([6], bytes: 400, source(2), &turns)
    #expect(turns.add(7, bytes: 1, of: source(1)) == .refused(.full))
    #expect(turns.waiting == 6)
  }

  @Test func `a text that has ended gives its share back`() {
    var turns = turns(texts: 4, bytes: 400)
    for id in 0..<3 {
      #expect(turns.add(id, bytes: 100, of: source(1)) == .reads)
      #expect(turns.add(9, bytes: 1, of: source(1)) == .refused(.addressShare))
      #expect(turns.end(id) == nil)
    }
  }

  // MARK: Giving way

  @Test func `the newest text of who has most of a full line gives way`() {
    var turns = turns(texts: 8)
    put(1...2, source(1), &turns)
    put(3...4, source(1, Self.modest), &turns)
    put(5...6, source(1, "192.0.2.3"), &turns)
    put(7...8, source(2), &turns)
    // Of the publisher with six, each address has two; one of them is read and has one that waits.
    guard case .waits(let refused) = turns.add(9, bytes: 1, of: source(3)) else {
      Issue.record("it was refused")
      return
    }
    #expect(refused.count == 1 && [2, 4, 6].contains(refused[0]))
    // Its place is gone: the rest is read, and it is not.
    let order = order(&turns, behind: 1)
    #expect(order.count == 7 && !order.contains(refused[0]) && order.contains(9))
  }

  @Test func `what gave way ends nothing later`() {
    var turns = turns(texts: 4)
    put(1...1, source(1), &turns)
    put(2...2, source(1, Self.modest), &turns)
    put(3...3, source(1, "192.0.2.3"), &turns)
    put(4...4, source(2), &turns)
    guard case .waits(let refused) = turns.add(5, bytes: 1, of: source(3)) else {
      Issue.record("it was refused")
      return
    }
    #expect(refused == [2] || refused == [3])
    for id in refused { #expect(turns.end(id) == nil) }
    #expect(turns.waiting == 3)
  }

  @Test func `a text that is read does not give way`() {
    var turns = turns(atOnce: 2, texts: 8)
    put(1...2, source(1), &turns)
    put(3...4, source(2), &turns)
    put(5...6, source(3), &turns)
    put(7...8, source(4), &turns)
    // Nobody has more than the newcomer's publisher would have, but the one whose texts are read.
    #expect(turns.add(9, bytes: 1, of: source(4)) == .refused(.full))
    guard case .waits(let refused) = turns.add(10, bytes: 1, of: source(5)) else {
      Issue.record("it was refused")
      return
    }
    #expect(refused.count == 1 && [4, 6, 8].contains(refused[0]))
  }

  @Test func `within a publisher's share an address with little gets in`() {
    var turns = turns(texts: 16)
    put(0..<4, source(1), &turns)
    put(4..<8, source(1, Self.modest), &turns)
    put(8..<12, source(1, "192.0.2.3"), &turns)
    guard case .waits(let refused) = turns.add(12, bytes: 1, of: source(1, "192.0.2.4")) else {
      Issue.record("it was refused")
      return
    }
    #expect(refused.count == 1 && [3, 7, 11].contains(refused[0]))
    // Another publisher has lost nothing, and has the rest.
    put(13..<17, source(2), &turns)
    #expect(turns.waiting == 15)
  }

  @Test func `within a network's share another network of 64 bits gets in`() {
    var turns = turns(texts: 16)
    put(0..<4, source(1, "2001:db8:1:1::1"), &turns)
    put(4..<8, source(1, "2001:db8:1:2::1"), &turns)
    guard case .waits(let refused) = turns.add(8, bytes: 1, of: source(1, "2001:db8:1:3::1")) else {
      Issue.record("it was refused")
      return
    }
    #expect(refused == [3] || refused == [7])
  }

  @Test func `a publisher at a crowded address gets in and is read next but one`() {
    var turns = turns(texts: 64)
    put(0..<16, source(1), &turns)
    #expect(turns.add(16, bytes: 1, of: source(1)) == .refused(.addressShare))
    put([17], source(2), &turns)
    #expect(order(&turns, behind: 0).prefix(2) == [1, 17])
  }

  @Test func `several texts give way where bytes are short, of who has most bytes`() {
    var turns = turns(texts: 1000, bytes: 1000)
    put(0..<2, bytes: 10, source(1), &turns)
    put(2..<8, bytes: 40, source(2), &turns)
    put(8..<14, bytes: 40, source(2, Self.modest), &turns)
    put([14, 15], bytes: 50, source(3), &turns)
    put([16, 17], bytes: 100, source(4), &turns)
    put([18, 19], bytes: 90, source(5), &turns)
    // 980 are taken. Publisher 2 has 480 of them, with two addresses in turn.
    guard case .waits(let refused) = turns.add(20, bytes: 100, of: source(6)) else {
      Issue.record("it was refused")
      return
    }
    #expect(Set(refused) == [7, 13])
  }

  @Test func `nobody gives way for a text that is refused all the same`() {
    var turns = turns(atOnce: 2, bytes: 2000)
    put([0], bytes: 500, source(8), &turns)
    put([1], bytes: 500, source(9), &turns)
    put(2...4, bytes: 100, source(1), &turns)
    put(5...6, bytes: 100, source(2), &turns)
    put(7...8, bytes: 100, source(3), &turns)
    put(9...10, bytes: 100, source(4), &turns)
    // The first publisher's newest text would go. Then nobody has more than the newcomer, and it is not enough.
    #expect(turns.add(11, bytes: 240, of: source(5)) == .refused(.full))
    #expect(turns.waiting == 9)
    #expect(order(&turns, behind: 0) == [2, 5, 7, 9, 3, 6, 8, 10, 4])
  }

  @Test func `one who has as much as the others takes nobody's place`() {
    var turns = turns(texts: 8)
    put([0], source(9), &turns)
    for publisher in 1...3 { put([publisher * 10, publisher * 10 + 1], source(PublisherId(Int64(publisher))), &turns) }
    put([40], source(4), &turns)
    #expect(turns.add(41, bytes: 1, of: source(4)) == .refused(.full))
  }

  @Test func `a party of which all texts gave way has no turn`() {
    var turns = turns(texts: 8)
    put([0], source(9), &turns)
    for number in 1...5 { put([number], source(1, "192.0.2.\(number)"), &turns) }
    put(6...7, source(2), &turns)
    for newcomer in 10...12 {
      #expect(turns.add(newcomer, bytes: 1, of: source(PublisherId(Int64(newcomer)))) != .refused(.full))
    }
    let order = order(&turns, behind: 0)
    #expect(order.count == 7 && Set(order).isSuperset(of: [6, 7, 10, 11, 12]))
  }
}
