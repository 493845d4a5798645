import EventLoop
import Service
import TestSupport
import Testing

/// The order in which a role's services start and stop.
@LoopActor
struct ServiceGroupTests {
  private final class Trace {
    var lines: [String] = []
  }

  private struct Refused: Error {}

  private let trace = Trace()

  private func service(
    _ name: String, start: @escaping @LoopActor () async throws -> Void = {},
    stop: @escaping @LoopActor (Duration) async -> Void = { _ in }
  ) -> ServiceAdapter {
    ServiceAdapter(
      start: { [trace] in
        trace.lines.append("start \(name)")
        try await start()
      }, close: { [trace] in trace.lines.append("close \(name)") },
      stop: { [trace] left in
        trace.lines.append("stop \(name)")
        await stop(left)
      })
  }

  @Test func `services stop in the reverse order, and none stops before all are closed`() async throws {
    let group = ServiceGroup([service("a"), service("b"), service("c")])
    try await group.start()
    try await group.start()
    await group.stop(within: .seconds(60))
    await group.stop(within: .seconds(60))
    #expect(
      trace.lines == [
        "start a", "start b", "start c", "close c", "close b", "close a", "stop c", "stop b", "stop a",
      ])
  }

  @Test func `all share one deadline`() async throws {
    var left: [Duration] = []
    let services = (0..<3).map { service("\($0)", stop: { left.append($0) }) }
    await ServiceGroup(services).stop(within: .seconds(3600))
    #expect(left.count == 3)
    for (earlier, later) in zip(left, left.dropFirst()) { #expect(later <= earlier) }
    left = []
    let late = (0..<3).map { service("late \($0)", stop: { left.append($0) }) }
    await ServiceGroup(late).stop(within: .zero)
    #expect(left == [.zero, .zero, .zero])
  }

  @Test func `a service that cannot start ends the start`() async throws {
    let group = ServiceGroup([service("a"), service("b", start: { throw Refused() }), service("c")])
    await #expect(throws: Refused.self) { try await group.start() }
    #expect(trace.lines == ["start a", "start b"])
    await group.stop(within: .seconds(60))
    #expect(trace.lines.suffix(3) == ["stop c", "stop b", "stop a"])
  }

  @Test func `a stop during the start ends it, and what has not started never starts`() async throws {
    let gate = Gate()
    let group = ServiceGroup([
      service(
        "a",
        start: { await gate.pass() }, stop: { _ in gate.open() }), service("b"),
    ])
    let starting = Task { @LoopActor in try await group.start() }
    try await gate.holds(1)
    await group.stop(within: .seconds(60))
    try await starting.value
    #expect(trace.lines == ["start a", "close a", "stop b", "stop a"])
  }

  @Test func `a group that was stopped does not start`() async throws {
    let group = ServiceGroup([service("a")])
    await group.stop(within: .zero)
    try await group.start()
    #expect(trace.lines == ["stop a"])
  }

  @Test func `a second stop waits for the first`() async throws {
    let gate = Gate()
    let group = ServiceGroup([
      service(
        "a",
        stop: { [trace] _ in
          await gate.pass()
          trace.lines.append("ended")
        })
    ])
    try await group.start()
    let first = Task { @LoopActor in await group.stop(within: .seconds(60)) }
    try await gate.holds(1)
    let second = Task { @LoopActor [trace] in
      await group.stop(within: .zero)
      trace.lines.append("second")
    }
    // Whoever let the second one go would do so in its first turns.
    for _ in 0..<100 { await Task.yield() }
    gate.open()
    await first.value
    await second.value
    #expect(trace.lines.suffix(2) == ["ended", "second"])
  }
}
