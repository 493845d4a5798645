import Testing

@testable import Service

/// How long a suspect may hold the others of its process.
struct SuspectTurnsTests {
  private func begin(
    _ turns: inout SuspectTurns, crashes: Int, at now: Duration
  ) throws -> SuspectTurns.Hold {
    let hold = turns.enterAlone(crashes: crashes, at: now)
    return try #require(hold)
  }

  @Test func `a suspect keeps others from beginning, and waits for running ones`() throws {
    var turns = SuspectTurns()
    #expect(turns.enter() == true)
    let hold = try begin(&turns, crashes: 2, at: .zero)
    #expect(turns.enter() == false)
    #expect(!turns.mayBegin(hold))
    turns.enterBeside()
    turns.leave()
    #expect(!turns.mayBegin(hold))
    turns.leave()
    #expect(turns.mayBegin(hold))
    #expect(turns.enter() == false)
    turns.leaveAlone(hold, at: .zero)
    #expect(turns.enter() == true)
  }

  @Test func `a second suspect does not wait`() throws {
    var turns = SuspectTurns()
    let hold = try begin(&turns, crashes: 2, at: .zero)
    #expect(turns.enterAlone(crashes: 5, at: .zero) == nil)
    turns.leaveAlone(hold, at: .zero)
    #expect(turns.enterAlone(crashes: 5, at: .zero) != nil)
  }

  @Test(arguments: [(2, Duration.seconds(3)), (3, .seconds(3)), (4, .seconds(3)), (5, nil)])
  func `a hold is short, but for the last run before a suspect is given up`(crashes: Int, limit: Duration?) throws {
    var turns = SuspectTurns()
    let hold = try begin(&turns, crashes: crashes, at: .zero)
    #expect(hold.limit == limit)
  }

  @Test func `a suspect whose hold is over is one of the others, whether it has begun or still waits`() throws {
    var turns = SuspectTurns()
    #expect(turns.enter() == true)
    let hold = try begin(&turns, crashes: 2, at: .zero)
    turns.release(hold, at: .seconds(3))
    #expect(turns.mayBegin(hold))
    #expect(turns.enter() == true)
    #expect(turns.running == 3)
    // The next suspect waits for it as for any other.
    let next = try begin(&turns, crashes: 5, at: .seconds(60))
    turns.leave()
    turns.leave()
    #expect(!turns.mayBegin(next))
    turns.leaveAlone(hold, at: .seconds(70))
    #expect(turns.mayBegin(next))
    #expect(turns.enter() == false)
  }

  @Test func `a hold ends once`() throws {
    var turns = SuspectTurns()
    let hold = try begin(&turns, crashes: 2, at: .zero)
    turns.leaveAlone(hold, at: .seconds(1))
    turns.release(hold, at: .seconds(3))
    #expect(turns.running == 0)
    let next = try begin(&turns, crashes: 2, at: .seconds(4))
    turns.release(hold, at: .seconds(5))
    #expect(turns.hold == next)
  }

  @Test func `between two holds the others have three times as long as the first, its wait included`() throws {
    var turns = SuspectTurns()
    #expect(turns.rest(at: .zero) == .zero)
    let hold = try begin(&turns, crashes: 2, at: .seconds(10))
    turns.leaveAlone(hold, at: .seconds(12))
    #expect(turns.rest(at: .seconds(12)) == .seconds(6))
    #expect(turns.enterAlone(crashes: 5, at: .seconds(18) - .nanoseconds(1)) == nil)
    #expect(turns.enter() == true)
    turns.leave()
    #expect(turns.rest(at: .seconds(18)) == .zero)
    let slow = try begin(&turns, crashes: 4, at: .seconds(18))
    turns.release(slow, at: .seconds(21))
    #expect(turns.rest(at: .seconds(21)) == .seconds(9))
    // The time that it takes beside the others is no hold.
    turns.leaveAlone(slow, at: .seconds(29))
    #expect(turns.enterAlone(crashes: 2, at: .seconds(30)) != nil)
  }

  @Test func `a clock that goes back gives the others no time, and does no harm`() throws {
    var turns = SuspectTurns()
    let hold = try begin(&turns, crashes: 2, at: .seconds(10))
    turns.leaveAlone(hold, at: .seconds(1))
    #expect(turns.enterAlone(crashes: 2, at: .seconds(1)) != nil)
  }

  @Test(arguments: zip([0, 1, 2, 5, 6, 99], [Suspects.Way.beside, .beside, .alone, .alone, .never, .never]))
  func `one death has no consequence, more make it run alone, and six put it aside`(crashes: Int, way: Suspects.Way) {
    #expect(Suspects.Way(crashes: crashes) == way)
  }
}
