import Domain
import Testing

struct FairTurnsTests {
  private func take(_ turns: inout FairTurns<String>, _ names: [String], free: Int) -> [String] {
    turns.shares(of: names, free: free).map { "\($0.name)\($0.most)" }
  }

  @Test func `another one is first each time`() {
    var turns = FairTurns<String>(places: 100, part: 4)
    #expect(take(&turns, ["a", "b", "c"], free: 9) == ["b3", "c3", "a3"])
    #expect(take(&turns, ["a", "b", "c"], free: 9) == ["c3", "a3", "b3"])
    #expect(take(&turns, ["a", "b", "c"], free: 9) == ["a3", "b3", "c3"])
    // The names may have changed meanwhile.
    #expect(take(&turns, ["a"], free: 9) == ["a9"])
  }

  @Test func `nobody holds more than a part of the places, unless nobody else is there`() {
    var turns = FairTurns<String>(places: 8, part: 4)
    turns.begin("a")
    #expect(take(&turns, ["a", "b"], free: 7) == ["b2", "a1"])
    turns.begin("a")
    #expect(take(&turns, ["a", "b"], free: 6) == ["b2"])
    #expect(take(&turns, ["a"], free: 6) == ["a6"])
    turns.end("a")
    turns.end("a")
    turns.end("a")
    #expect(take(&turns, ["a", "b"], free: 8) == ["a2", "b2"])
  }

  @Test func `everybody is first in a part of a longer list, and the last one of it is not alone`() {
    var turns = FairTurns<String>(places: 8, part: 4)
    var first: Set<String> = []
    for _ in 0..<4 {
      let parts = [["a", "b", "c", "d"], ["e"]]
      for (place, part) in parts.enumerated() {
        let shares = turns.shares(of: part, free: 8, among: 5, isLast: place == 1)
        if place == 0 { first.insert(shares[0].name) } else { #expect(shares.map(\.most) == [2]) }
      }
    }
    #expect(first == ["a", "b", "c", "d"])
  }

  @Test func `few free places are shared out one by one`() {
    var turns = FairTurns<String>(places: 100, part: 4)
    let names = (0..<20).map { "\($0) " }
    #expect(take(&turns, names, free: 2).allSatisfy { $0.hasSuffix(" 1") })
    #expect(take(&turns, names, free: 80).allSatisfy { $0.hasSuffix(" 10") })
    #expect(take(&turns, names, free: 0).isEmpty && take(&turns, [], free: 5).isEmpty)
  }
}
