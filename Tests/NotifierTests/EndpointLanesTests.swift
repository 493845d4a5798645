import Domain
import EventLoop
import TestSupport
import Testing

@testable import Notifier

/// The lanes of a process that lives longer than its endpoints.
@LoopActor
struct EndpointLanesTests {
  @LoopActor
  private final class Clock {
    var now: Duration = .zero
  }

  private func name(_ id: EndpointId) -> EndpointLanes.Name { EndpointLanes.Name(publisher: 1, endpoint: id) }

  /// Enters a lane that has room.
  private func pass(_ lanes: EndpointLanes, _ id: EndpointId) async throws -> EndpointLanes.Pass {
    let answer = await lanes.enter(name(id), limit: 1)
    var pass: EndpointLanes.Pass?
    if case .go(let given) = answer { pass = given }
    return try #require(pass, "\(id) is not let through: \(answer)")
  }

  @Test func `lanes of endpoints that nothing is sent to are dropped`() async throws {
    let clock = Clock()
    let lanes = EndpointLanes(concurrency: 20, clock: { clock.now })
    for number in 0..<100 {
      lanes.end(try await pass(lanes, "ep_\(number)"), ranOutOfTime: false)
    }
    let long = try await pass(lanes, "long")
    #expect(lanes.count == 101)
    // Soon after, every lane is still known.
    clock.now = .seconds(60)
    lanes.end(try await pass(lanes, "late"), ranOutOfTime: true)
    #expect(lanes.count == 102)
    // Lanes with attempts under way or just ended stay.
    clock.now = EndpointLane.memory + .seconds(30)
    _ = await lanes.enter(name("new"), limit: 1)
    #expect(lanes.count == 3)
    lanes.end(long, ranOutOfTime: false)
  }

  @Test func `a lane is over when nothing is under way or planned`() {
    var lane = EndpointLane()
    #expect(lane.isOver(EndpointLane.memory))
    let (_, first) = lane.ask(.zero, limit: 1, ahead: 0, hasWaited: false, isCrowded: false)
    #expect(!lane.isOver(EndpointLane.memory))
    lane.end(first, .seconds(1), ranOutOfTime: false)
    #expect(!lane.isOver(EndpointLane.memory))
    #expect(lane.isOver(EndpointLane.memory + .seconds(1)))
  }

  @Test func `a thousand endpoints of one publisher that hang leave room for the others`() async throws {
    let clock = Clock()
    let lanes = EndpointLanes(concurrency: 1000, clock: { clock.now })
    func enter(_ publisher: PublisherId, _ number: Int) async -> EndpointLanes.Answer {
      await lanes.enter(EndpointLanes.Name(publisher: publisher, endpoint: "\(number)"), limit: 1000)
    }
    var passes: [EndpointLanes.Pass] = []
    for number in 0..<250 {
      guard case .go(let pass) = await enter(1, number) else { throw NeverHappened(description: "no room") }
      passes.append(pass)
    }
    // No endpoint has answered for so long that no delivery's turn is near.
    clock.now += .seconds(200)
    for number in 250..<1000 {
      guard case .park = await enter(1, number) else { throw NeverHappened(description: "there was room") }
    }
    guard case .go = await enter(2, 0) else { throw NeverHappened(description: "there was none for another") }
    lanes.end(passes[0], ranOutOfTime: true)
    guard case .go(let next) = await enter(1, 500) else { throw NeverHappened(description: "no room came free") }
    lanes.abort(next)
    guard case .go = await enter(1, 501) else { throw NeverHappened(description: "no room was given back") }
  }

  @Test func `a quick publisher takes what nobody else needs, until it hangs`() async throws {
    let clock = Clock()
    let lanes = EndpointLanes(concurrency: 8, clock: { clock.now })
    func enter(_ publisher: PublisherId, _ number: Int) async -> EndpointLanes.Pass? {
      let name = EndpointLanes.Name(publisher: publisher, endpoint: "\(number)")
      guard case .go(let pass) = await lanes.enter(name, limit: 10) else { return nil }
      return pass
    }
    let first = try #require(await enter(1, 0))
    clock.now += .milliseconds(1)
    lanes.end(first, ranOutOfTime: false)
    var passes: [EndpointLanes.Pass] = []
    for number in 0..<6 { passes.append(try #require(await enter(1, number))) }
    // Two places are left, and one of them is reserved for the next publisher.
    clock.now += .seconds(20)
    #expect(await enter(1, 6) == nil)
    let other = try #require(await enter(2, 0))
    // The publisher now has two places, like every slow one.
    for pass in passes[..<4] { lanes.end(pass, ranOutOfTime: true) }
    #expect(await enter(1, 6) == nil)
    lanes.end(passes[4], ranOutOfTime: true)
    let next = try #require(await enter(1, 6))
    for pass in [passes[5], next, other] { lanes.abort(pass) }
  }
}
