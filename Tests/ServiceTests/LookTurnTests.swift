import Testing

@testable import Service

/// When a chore looks, by value.
struct LookTurnTests {
  @Test func `one look runs at a time`() {
    var turn = LookTurn()
    let begins = [turn.ask(isReady: true), turn.ask(isReady: true)]
    #expect(begins == [true, false])
    let goesOn = turn.end()
    let next = turn.ask(isReady: true)
    #expect(!goesOn && next)
  }

  @Test func `a hint during a look asks for another one`() {
    var turn = LookTurn()
    let begins = [turn.ask(isHint: true, isReady: true), turn.ask(isHint: true, isReady: true)]
    #expect(begins == [true, false])
    let goesOn = turn.end()
    let next = turn.ask(isReady: true)
    let goesOnAgain = turn.end()
    #expect(goesOn && next && !goesOnAgain)
  }

  @Test func `a hint while nothing can be looked at stays until a look`() {
    var turn = LookTurn()
    let early = turn.ask(isHint: true, isReady: false)
    #expect(!early && turn.isHinted && !turn.isLooking)
    let next = turn.ask(isReady: true)
    #expect(next && !turn.isHinted)
  }
}
