import EventLoop
import Fleets
import FoundationEssentials
public import Testing

/// Lets tests share the servers, and gives them to one test alone when it breaks them.
///
/// A suite whose tests share may have tests that break: these give their part back, and enter alone.
public struct ServerUse: SuiteTrait, TestTrait, TestScoping {
  /// How much of the machine the test takes, of ``ServerGate/room``.
  let weight: Int

  private var isAlone: Bool { weight == ServerGate.room }

  public var isRecursive: Bool { true }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    // A suite's own scope would hold the gate for all its tests at once, and they would wait for it forever.
    guard testCase != nil else { return try await function() }
    // `ops/test` lets the tests that break servers run in a lane of their own, beside the others.
    let isOfAnotherLane = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_USE"].map { wanted in
      let most = test.traits.compactMap { ($0 as? ServerUse)?.weight }.max() ?? 0
      return wanted != (most == ServerGate.room ? "breaking" : "sharing")
    }
    if isOfAnotherLane == true { try Test.cancel("It runs in another lane.") }
    let outer = Self.entered
    if let outer, outer >= weight { return try await function() }
    if let outer { await ServerGate.shared.leave(outer) }
    await ServerGate.shared.enter(weight)
    let start = ContinuousClock.now
    let result: Result<Void, any Error>
    do {
      try await Self.$entered.withValue(weight) {
        try await TestServers.$mayBreak.withValue(isAlone) { try await function() }
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await ServerGate.shared.leave(weight)
    // Tests without a fleet are many, and short. A row of faults tells its own time.
    let isRow = isAlone && test.isParameterized
    if weight >= ServerGate.room / 6, !isRow { OwnTime.tell(test.displayName ?? test.name, since: start) }
    if let outer { await ServerGate.shared.enter(outer) }
    try result.get()
  }

  /// What the suite's trait has entered with.
  @TaskLocal private static var entered: Int?
}

extension Trait where Self == ServerUse {
  /// The test shares the servers with others.
  public static var sharingServers: Self { ServerUse(weight: 1) }
  /// The test runs a fleet, and shares the servers with a few others. A fleet has up to seven processes: more fleets
  /// side by side only wait for the processor.
  public static var runningFleet: Self { ServerUse(weight: ServerGate.room / 6) }
  /// The test breaks the servers, or needs all of the machine.
  public static var breakingServers: Self { ServerUse(weight: ServerGate.room) }
}

/// Admits tests while there is room, in the order of their arrival; those that must be alone come last, since each of
/// them waits until the machine is idle.
@LoopActor
final class ServerGate {
  static let shared = ServerGate()
  /// Some tests that only share the servers, six fleets, or one test alone. PostgreSQL takes 200 connections, and a
  /// test of the ledger has two to four. They also share one loop: a transaction must not wait for it for long.
  nonisolated static let room = 24
  private var taken = 0
  private var sharing: [(weight: Int, CheckedContinuation<Void, Never>)] = []
  private var alone: [CheckedContinuation<Void, Never>] = []

  func enter(_ weight: Int) async {
    await withCheckedContinuation { waiter in
      if weight < Self.room { sharing.append((weight, waiter)) } else { alone.append(waiter) }
      admit()
    }
  }

  func leave(_ weight: Int) {
    taken -= weight
    admit()
  }

  private func admit() {
    while let (weight, waiter) = sharing.first, taken + weight <= Self.room {
      sharing.removeFirst()
      taken += weight
      waiter.resume()
    }
    guard taken == 0, !alone.isEmpty else { return }
    taken = Self.room
    alone.removeFirst().resume()
  }
}
