import Testing

@testable import Notifier

/// How many attempts for one endpoint a process admits at a time.
struct EndpointLaneTests {
  private func ask(
    _ lane: inout EndpointLane, at now: Duration, limit: Int = 10, ahead: Int = 0, hasWaited: Bool = false,
    isCrowded: Bool = false
  ) -> (admission: EndpointLane.Admission, attempt: Int) {
    lane.ask(now, limit: limit, ahead: ahead, hasWaited: hasWaited, isCrowded: isCrowded)
  }

  @Test func anUnknownEndpointGetsTwoAtATime() {
    var lane = EndpointLane()
    #expect(ask(&lane, at: .zero).admission == .go)
    #expect(ask(&lane, at: .zero).admission == .go)
    #expect(ask(&lane, at: .zero).admission == .wait)
    #expect(ask(&lane, at: .zero, ahead: 19).admission == .wait)
    #expect(ask(&lane, at: .zero, ahead: 20).admission == .park(.seconds(1)))
    #expect(ask(&lane, at: .zero, hasWaited: true).admission == .park(.seconds(1)))
    #expect(lane.count == 2)
  }

  @Test func everyAnswerMakesRoomForOneMore() {
    var lane = EndpointLane()
    for _ in 0..<3 {
      let (_, attempt) = ask(&lane, at: .zero)
      lane.end(attempt, .milliseconds(5), ranOutOfTime: false)
    }
    #expect(lane.window == 5)
    for _ in 0..<5 { #expect(ask(&lane, at: .seconds(1)).admission == .go) }
    #expect(ask(&lane, at: .seconds(1)).admission == .wait)
    // A delivery that already waits comes first.
    #expect(ask(&lane, at: .seconds(1), limit: 6, ahead: 1).admission == .wait)
    // At a quick endpoint each turn comes soon, yet the line must not fill the whole prefetch.
    #expect(ask(&lane, at: .seconds(1), ahead: EndpointLane.longestLine).admission == .park(.seconds(1)))
  }

  @Test func theEndpointsOwnLimitHolds() {
    var lane = EndpointLane()
    for _ in 0..<20 {
      let (_, attempt) = ask(&lane, at: .zero, limit: 3)
      lane.end(attempt, .milliseconds(5), ranOutOfTime: false)
    }
    for _ in 0..<3 { #expect(ask(&lane, at: .zero, limit: 3).admission == .go) }
    #expect(ask(&lane, at: .zero, limit: 3).admission == .wait)
  }

  @Test func aDeadEndpointHoldsOneDelivery() {
    var lane = EndpointLane()
    let (_, first) = ask(&lane, at: .zero)
    // While the endpoint hangs, each new delivery is parked for longer than the one before.
    _ = ask(&lane, at: .zero)
    #expect(ask(&lane, at: .seconds(10)).admission == .park(.seconds(5)))
    #expect(ask(&lane, at: .seconds(10)).admission == .park(.seconds(10)))
    lane.end(first, .seconds(20), ranOutOfTime: true)
    #expect(lane.window == 1)
    #expect(ask(&lane, at: .seconds(20)).admission == .park(.seconds(20)))
    lane.end(2, .seconds(20), ranOutOfTime: true)
    #expect(ask(&lane, at: .seconds(20)).admission == .go)
    // The time never exceeds a minute, and is spread over the second half of it.
    for _ in 0..<10 { _ = ask(&lane, at: .seconds(21)) }
    #expect(ask(&lane, at: .seconds(21)).admission == .park(.milliseconds(31_680)))
  }

  @Test func oneThatAnswersAgainIsNotJudgedByItsPast() {
    var lane = EndpointLane()
    let (_, first) = ask(&lane, at: .zero)
    lane.end(first, .seconds(20), ranOutOfTime: true)
    let (_, second) = ask(&lane, at: .seconds(20))
    lane.end(second, .seconds(20) + .milliseconds(10), ranOutOfTime: false)
    #expect(lane.window == 2)
    #expect(!lane.isSlow(.seconds(21)))
  }

  @Test func slowOnesThatAreTooManyGetOneEach() {
    var lane = EndpointLane()
    let (_, first) = ask(&lane, at: .zero)
    lane.end(first, .seconds(3), ranOutOfTime: false)
    #expect(lane.isSlow(.seconds(3)))
    #expect(ask(&lane, at: .seconds(3), isCrowded: true).admission == .go)
    #expect(ask(&lane, at: .seconds(3), isCrowded: true).admission == .park(.seconds(1)))
    #expect(ask(&lane, at: .seconds(3)).admission == .go)
  }

  /// If 1,000 endpoints hang, a lane that is known to hang has no guaranteed place.
  @Test func deadOnesThatAreTooManyWait() {
    var lanes = (0..<1000).map { _ in EndpointLane() }
    for index in lanes.indices {
      let (_, first) = ask(&lanes[index], at: .zero)
      lanes[index].end(first, .seconds(20), ranOutOfTime: true)
      #expect(lanes[index].slowPlaces(.seconds(20)) == 0)
    }
    var held = 0
    for index in lanes.indices where ask(&lanes[index], at: .seconds(20), isCrowded: held >= 500).admission == .go {
      held += lanes[index].slowPlaces(.seconds(20))
    }
    #expect(held == 500)
    #expect(ask(&lanes[999], at: .seconds(20), isCrowded: true).admission == .park(.seconds(40)))
    // The endpoint answers again, and the lane treats it like any other.
    let (_, again) = ask(&lanes[999], at: .seconds(60))
    lanes[999].end(again, .seconds(60) + .milliseconds(5), ranOutOfTime: false)
    #expect(ask(&lanes[999], at: .seconds(61), isCrowded: true).admission == .go)
    #expect(lanes[999].slowPlaces(.seconds(61)) == 0)
  }

  @Test func whatWasNotMadeLeavesNoTrace() {
    var lane = EndpointLane()
    let (_, first) = ask(&lane, at: .zero, limit: 1)
    #expect(ask(&lane, at: .zero, limit: 1).admission != .go)
    lane.abort(first)
    #expect(lane.window == 2)
    #expect(ask(&lane, at: .zero, limit: 1).admission == .go)
    #expect(lane.parkForOthers(.zero, limit: 10) == .seconds(1))
  }
}
