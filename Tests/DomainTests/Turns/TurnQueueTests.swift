import Domain
import Testing

/// The queue in which parties take turns.
struct TurnQueueTests {
  private func queue(_ elements: (String, Int)...) -> TurnQueue<String, Int> {
    var queue = TurnQueue<String, Int>()
    for (party, element) in elements { queue.append(element, of: party) }
    return queue
  }

  @Test func `one party's elements leave in the order in which they came`() {
    var queue = queue(("a", 1), ("a", 2), ("a", 3))
    #expect(queue.takeNext(2) == [1, 2])
    #expect(queue.count == 1 && !queue.isEmpty)
    #expect(queue.takeNext(9) == [3])
    #expect(queue.isEmpty)
    #expect(queue.takeNext(9) == [])
  }

  @Test func `it tells whose element comes next`() {
    var queue = queue(("a", 1), ("a", 2), ("b", 11))
    var parties: [String] = []
    while let next = queue.next {
      parties.append(next)
      #expect(queue.takeNext(1).count == 1)
    }
    #expect(parties == ["a", "b", "a"] && queue.isEmpty)
  }

  @Test func `a party that comes late waits for one element of each other party`() {
    var queue = queue(("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 11))
    #expect(queue.takeNext(3) == [1, 11, 2])
    queue.append(12, of: "b")
    #expect(queue.takeNext(3) == [3, 12, 4])
  }

  @Test func `the turns go on where the last taking ended`() {
    var queue = queue(("a", 1), ("a", 2), ("b", 11), ("b", 12), ("c", 21), ("c", 22))
    #expect(queue.takeNext(2) == [1, 11])
    #expect(queue.takeNext(2) == [21, 2])
    #expect(queue.takeNext(9) == [12, 22])
  }

  @Test func `however many come and go, a party gets its next turn`() {
    var queue = TurnQueue<Int, Int>()
    queue.append(1, of: 0)
    queue.append(2, of: 0)
    #expect(queue.takeNext(1) == [1])
    var rounds = 0
    var taken: [Int] = []
    while !taken.contains(2), rounds < 100 {
      rounds += 1
      // More than leave the queue.
      for party in 1...200 { queue.append(3, of: rounds * 1000 + party) }
      taken = queue.takeNext(100)
    }
    #expect(rounds == 1)
  }

  @Test func `taking nothing leaves all`() {
    var queue = queue(("a", 1))
    #expect(queue.takeNext(0) == [])
    #expect(queue.takeNext(-1) == [])
    #expect(queue.count == 1)
  }

  @Test func `a long queue of one party keeps its order through many takings`() {
    var queue = TurnQueue<String, Int>()
    var (next, taken) = (0, [Int]())
    for _ in 0..<10 {
      for _ in 0..<100 {
        queue.append(next, of: "a")
        next += 1
      }
      taken += queue.takeNext(70)
    }
    taken += queue.takeNext(queue.count)
    #expect(taken == Array(0..<1000))
  }

  @Test func `one party's elements come out together, and the rest of them at its next turn`() {
    var queue = TurnQueue<String, Int>()
    for number in 1...3 { queue.append(number, of: "a") }
    queue.append(4, of: "b")
    #expect(queue.takeNextParty(0).isEmpty)
    #expect(queue.takeNextParty(2) == [1, 2])
    queue.append(5, of: "a")
    #expect(queue.takeNextParty(2) == [4])
    #expect(queue.takeNextParty(9) == [3, 5])
    #expect(queue.takeNextParty(1).isEmpty && queue.isEmpty)
  }

  @Test func `a party that is not wanted keeps its elements`() {
    var queue = queue(("a", 1), ("a", 2), ("b", 11), ("c", 21))
    #expect(queue.hasParty { $0 == "c" } && !queue.hasParty { $0 == "d" })
    #expect(queue.takeNextParty(9) { $0 == "d" }.isEmpty)
    #expect(queue.takeNextParty(9) { $0 != "a" } == [11])
    #expect(queue.count == 3)
    #expect(queue.takeNext(9) == [21, 1, 2])
  }
}
