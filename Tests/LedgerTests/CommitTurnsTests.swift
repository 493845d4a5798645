import Testing

@testable import Ledger

/// Which work goes into the next commit.
struct CommitTurnsTests {
  private func turns(connections: Int = 2, most: Int = 4) -> CommitTurns<String> {
    CommitTurns(mostAtOnce: most, connections: connections)
  }

  private func next(_ turns: inout CommitTurns<String>) -> CommitTurns<String>.Batch? { turns.next() }

  private func append(
    _ names: [String], of publisher: Int64 = 1, _ isBackground: Bool, to turns: inout CommitTurns<String>
  ) {
    for name in names { turns.append(name, of: publisher, isBackground: isBackground) }
  }

  @Test func `background work leaves the last connection to work that somebody waits for`() throws {
    var turns = turns()
    append(["b1", "b2", "b3", "b4", "b5"], true, to: &turns)
    let first = try #require(next(&turns))
    #expect(first.elements == ["b1", "b2", "b3", "b4"])
    #expect(first.isBackground)
    #expect(next(&turns)?.elements == nil)
    append(["a1"], false, to: &turns)
    let second = try #require(next(&turns))
    #expect(second.elements == ["a1"])
    #expect(!second.isBackground)
    turns.end(first)
    let third = try #require(next(&turns))
    #expect(third.elements == ["b5"])
    #expect(turns.count == 0)
  }

  @Test func `work that somebody waits for goes first and takes every connection`() throws {
    var turns = turns(connections: 3)
    append(["b1"], true, to: &turns)
    append(["a1", "a2", "a3", "a4", "a5"], false, to: &turns)
    #expect(next(&turns)?.elements == ["a1", "a2", "a3", "a4"])
    #expect(next(&turns)?.elements == ["a5"])
    #expect(next(&turns)?.elements == ["b1"])
    #expect(next(&turns)?.elements == nil)
  }

  @Test func `background work gets one commit of five however much somebody waits for`() {
    var turns = turns(connections: 1, most: 2)
    append((1...40).map { "b\($0)" }, true, to: &turns)
    append((1...40).map { "a\($0)" }, false, to: &turns)
    var kinds = ""
    for _ in 1...15 {
      guard let batch = turns.next() else { break }
      kinds += batch.isBackground ? "b" : "a"
      turns.end(batch)
    }
    #expect(kinds == "aaaabaaaabaaaab")
  }

  @Test func `with one connection background work may have it`() {
    var turns = turns(connections: 1, most: 1)
    append(["b1"], true, to: &turns)
    #expect(next(&turns)?.elements == ["b1"])
    append(["a1"], false, to: &turns)
    #expect(next(&turns)?.elements == nil)
  }

  @Test func `publishers take turns in both kinds`() {
    var turns = turns(connections: 3)
    append(["b1", "b2", "b3"], of: 1, true, to: &turns)
    append(["B1"], of: 2, true, to: &turns)
    append(["a1", "a2", "a3", "a4", "a5"], of: 1, false, to: &turns)
    append(["A1"], of: 2, false, to: &turns)
    #expect(next(&turns)?.elements == ["a1", "A1", "a2", "a3"])
    #expect(next(&turns)?.elements == ["a4", "a5"])
    #expect(next(&turns)?.elements == ["b1", "B1", "b2", "b3"])
  }

  @Test func `what waits comes out at a stop`() {
    var turns = turns()
    append(["b1"], true, to: &turns)
    append(["a1"], false, to: &turns)
    #expect(turns.takeAll() == ["a1", "b1"])
    #expect(turns.count == 0)
    #expect(next(&turns)?.elements == nil)
  }
}
