import Domain
import Testing

@testable import Ledger

/// Which work goes into the next commit.
struct CommitTurnsTests {
  private func turns(connections: Int = 2, most: Int = 4) -> CommitTurns<String> {
    CommitTurns(mostAtOnce: most, connections: connections)
  }

  private func next(_ turns: inout CommitTurns<String>) -> CommitTurns<String>.Batch? { turns.next(at: .zero) }

  private func append(
    _ names: [String], of publisher: PublisherId = 1, _ isBackground: Bool, to turns: inout CommitTurns<String>
  ) {
    for name in names {
      turns.append(name, of: publisher, for: nil, isBackground: isBackground, at: .zero)
    }
  }

  private func append(
    _ names: [String], for customer: CustomerId, at seconds: Double = 0, _ isBackground: Bool = false,
    to turns: inout CommitTurns<String>
  ) {
    for name in names {
      turns.append(
        name, of: 1, for: CustomerKey(publisherId: 1, id: customer), isBackground: isBackground, at: .seconds(seconds))
    }
  }

  @Test func `a customer of whom much waits has commits of its own`() throws {
    var turns = turns(connections: 3)
    append((1...9).map { "m\($0)" }, for: "me", to: &turns)
    append(["y1"], for: "you", to: &turns)
    // The first ones stand among the others.
    let first = try #require(next(&turns))
    #expect(first.elements == ["m1", "m2", "m3", "y1"])
    let second = try #require(next(&turns))
    #expect(second.elements == ["m4", "m5", "m6", "m7"] && second.kind == .crowded)
    // The next one of the same customer would only wait for the same row.
    #expect(next(&turns)?.elements == nil)
    append(["y2"], for: "you", to: &turns)
    let third = try #require(next(&turns))
    #expect(third.elements == ["y2"])
    for batch in [first, second, third] { turns.end(batch, at: .zero) }
    let fourth = try #require(next(&turns))
    #expect(fourth.elements == ["m8", "m9"])
    turns.end(fourth, at: .zero)
    // For a while it stays so: other workers may hold the customer's row.
    append(["m10"], for: "me", at: 4.9, to: &turns)
    append(["y3"], for: "you", at: 4.9, to: &turns)
    for elements in [["y3"], ["m10"]] {
      let batch = try #require(next(&turns))
      #expect(batch.elements == elements)
      turns.end(batch, at: .zero)
    }
    append(["m11"], for: "me", at: 9.9, to: &turns)
    append(["y4"], for: "you", at: 9.9, to: &turns)
    #expect(next(&turns)?.elements == ["m11", "y4"])
  }

  @Test func `commits of a crowded customer take a quarter of the time`() throws {
    var turns = turns(connections: 2)
    func next(_ milliseconds: Int) -> CommitTurns<String>.Batch? { turns.next(at: .milliseconds(milliseconds)) }
    append((1...11).map { "m\($0)" }, for: "me", to: &turns)
    turns.end(try #require(next(0)), at: .zero)
    let own = try #require(next(100))
    #expect(own.elements == ["m4", "m5", "m6", "m7"])
    // While it is under way its end comes first.
    #expect(turns.rest(at: .milliseconds(101)) == nil)
    turns.end(own, at: .milliseconds(110))
    #expect(next(139) == nil && turns.rest(at: .milliseconds(139)) == .milliseconds(1))
    append(["y1"], for: "you", at: 0.139, to: &turns)
    let others = try #require(next(139))
    #expect(others.elements == ["y1"])
    #expect(next(140)?.elements == ["m8", "m9", "m10", "m11"])
    #expect(turns.rest(at: .milliseconds(140)) == nil)
  }

  @Test func `publishers with crowded customers take turns, and leave the last connection to the others`() throws {
    var turns = turns(connections: 2)
    func append(_ names: [String], of publisher: PublisherId, for customer: CustomerId) {
      for name in names {
        turns.append(
          name, of: publisher, for: CustomerKey(publisherId: publisher, id: customer), isBackground: false, at: .zero)
      }
    }
    append(["m1", "m2", "m3", "m4"], of: 1, for: "m")
    append(["n1", "n2", "n3", "n4"], of: 1, for: "n")
    append(["y1", "y2", "y3", "y4"], of: 2, for: "y")
    var batches: [CommitTurns<String>.Batch] = []
    for _ in 1...3 {
      batches.append(try #require(next(&turns)))
      if batches.count > 1 { turns.end(batches[batches.count - 2], at: .zero) }
    }
    #expect(batches.map(\.elements) == [["m1", "y1", "m2", "y2"], ["m3", "y3", "n1", "n2"], ["n3"]])
    turns.end(batches[2], at: .zero)
    // Both crowded customers of a publisher go together, and the other publisher's comes next.
    let own = try #require(next(&turns))
    #expect(own.elements == ["m4", "n4"] && own.kind == .crowded)
    #expect(next(&turns)?.elements == nil)
    append(["a1"], of: 3, for: "anybody")
    let others = try #require(next(&turns))
    #expect(others.elements == ["a1"])
    turns.end(own, at: .zero)
    #expect(next(&turns)?.elements == ["y4"])
  }

  @Test func `an outage is no reason for a long rest`() throws {
    var turns = turns(connections: 2)
    append((1...8).map { "m\($0)" }, for: "me", to: &turns)
    turns.end(try #require(next(&turns)), at: .zero)
    let own = try #require(next(&turns))
    turns.end(own, at: .seconds(600))
    #expect(turns.rest(at: .seconds(600)) == .seconds(1))
    #expect(turns.next(at: .seconds(601))?.elements == ["m8"])
  }

  @Test func `background work goes in one commit of six beside a crowded customer`() {
    var turns = turns(connections: 1, most: 1)
    append((1...40).map { "b\($0)" }, true, to: &turns)
    append((1...40).map { "c\($0)" }, for: "me", to: &turns)
    append((1...40).map { "a\($0)" }, false, to: &turns)
    var kinds = ""
    for _ in 1...18 {
      guard let batch = next(&turns) else { break }
      kinds += batch.elements[0].prefix(1)
      turns.end(batch, at: .zero)
    }
    // The first three of the crowded customer are like any other's.
    #expect(kinds == "cccacb" + "aaaacb" + "aaaacb")
  }

  @Test func `crowded customers and background work take turns`() {
    var turns = turns(connections: 1, most: 1)
    append(["x1", "x2", "x3"], for: "me", to: &turns)
    append(["c1", "c2", "c3"], for: "me", to: &turns)
    append(["b1", "b2", "b3"], true, to: &turns)
    // An import of one customer's purchases is background work, whoever else comes.
    append(["b4"], for: "me", true, to: &turns)
    var all: [String] = []
    while let batch = next(&turns) {
      all += batch.elements
      turns.end(batch, at: .zero)
    }
    #expect(all == ["x1", "x2", "x3", "c1", "b1", "c2", "b2", "c3", "b3", "b4"])
  }

  @Test func `a customer who was crowded long ago counts like any other`() throws {
    var turns = turns(connections: 1, most: 1000)
    for number in 0..<300 {
      append(["a", "b", "c", "d"], for: CustomerId("\(number)"), at: Double(number), to: &turns)
      while let batch = turns.next(at: .seconds(number)) { turns.end(batch, at: .seconds(number)) }
    }
    append(["last"], for: "299", at: 300, to: &turns)
    append(["first"], for: "0", at: 300, to: &turns)
    // The last one is crowded still, so it does not come along.
    #expect(turns.next(at: .seconds(300))?.elements == ["first"])
  }

  @Test func `background work leaves the last connection to work that somebody waits for`() throws {
    var turns = turns()
    append(["b1", "b2", "b3", "b4", "b5"], true, to: &turns)
    let first = try #require(next(&turns))
    #expect(first.elements == ["b1", "b2", "b3", "b4"])
    #expect(first.kind == .background)
    #expect(next(&turns)?.elements == nil)
    append(["a1"], false, to: &turns)
    let second = try #require(next(&turns))
    #expect(second.elements == ["a1"])
    #expect(second.kind == .awaited)
    turns.end(first, at: .zero)
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
      guard let batch = next(&turns) else { break }
      kinds += batch.kind == .background ? "b" : "a"
      turns.end(batch, at: .zero)
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
