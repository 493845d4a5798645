import Coordination
import Domain
import EventLoop
import Fleets
import Redis
import ServerSupport
import TestSupport
import Testing

/// Calls that nobody waits for, beside calls that somebody waits for, in a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct CallLaterTests {
  private static let hour = CoordinationOnRedis.hour

  private static func place(perSecond: Double) -> CallPlace {
    CallPlace(
      bundleId: "app", environment: "Production", budgets: [CallBudget(endpoint: "info", perSecond: perSecond)])
  }

  private func later(_ test: CoordinationOnRedis, _ place: CallPlace) async throws -> Bool {
    switch try await test.budgets.takeCall(place, only: "info", .later) {
    case .granted(let grant):
      #expect(grant == CallPermit(place: place.name, endpoint: "info"))
      return true
    case .wait(let wait):
      #expect(wait > .zero)
      return false
    }
  }

  /// Puts a job into the line of a place, for longer than the test takes.
  private func join(_ test: CoordinationOnRedis, _ place: CallPlace) async throws {
    try await test.budgets.pause(place, "info", for: Self.hour)
    let answer = try await test.leases.take(
      CoordinationOnRedis.job(), for: Self.hour, sweepAfter: Self.hour, places: [place])
    guard case .inLine = answer else { throw NeverHappened(description: "a place in the line") }
    _ = try await test.redis.send(["HDEL", test.prefix + "budgets", "pause:\(place.name)|info"])
  }

  @Test func `they leave half of a second's calls to whoever comes next`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let place = Self.place(perSecond: 8)
      var taken = 0
      while try await later(test, place), taken < 10_000 { taken += 1 }
      #expect(taken >= 4)
      // On a slow machine more have come in meanwhile, and never fewer.
      for _ in 0..<2 {
        guard case .granted = try await test.budgets.takeCall(place) else {
          throw NeverHappened(description: "a call for somebody who waits")
        }
      }
    }
  }

  @Test func `while nobody is in the line they get what is left, and a tenth is their own`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      // One call an hour: the second one is their own, and then there is none for hours.
      let place = Self.place(perSecond: 1.0 / 3600)
      #expect(try await later(test, place))
      #expect(try await later(test, place))
      #expect(try await later(test, place) == false)
    }
  }

  @Test func `while somebody is in the line they get their own tenth only`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let place = Self.place(perSecond: 1.0 / 3600)
      try await join(test, place)
      #expect(try await later(test, place))
      #expect(try await later(test, place) == false)
    }
  }

  @Test func `a pause that Apple has asked for stops them, too`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let place = Self.place(perSecond: 1000)
      try await test.budgets.pause(place, "info", for: Self.hour)
      guard case .wait(let wait) = try await test.budgets.takeCall(place, only: "info", .later) else {
        throw NeverHappened(description: "a wait")
      }
      #expect(wait > .seconds(3000))
      // An endpoint that the place does not have gives nothing.
      guard case .wait = try await test.budgets.takeCall(place, only: "statuses", .later) else {
        throw NeverHappened(description: "a wait")
      }
    }
  }
}
