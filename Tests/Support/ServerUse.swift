import EventLoop
public import Testing

/// Lets tests share the servers, and gives them to one test alone when it breaks them.
public struct ServerUse: SuiteTrait, TestTrait, TestScoping {
  let isExclusive: Bool

  public var isRecursive: Bool { true }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    // A suite's own scope would hold the gate for all its tests at once, and they would wait for it forever.
    guard testCase != nil else { return try await function() }
    await ServerGate.shared.enter(isExclusive: isExclusive)
    do {
      try await function()
    } catch {
      await ServerGate.shared.leave(isExclusive: isExclusive)
      throw error
    }
    await ServerGate.shared.leave(isExclusive: isExclusive)
  }
}

extension Trait where Self == ServerUse {
  /// The test shares the servers with others.
  public static var sharingServers: Self { ServerUse(isExclusive: false) }
  /// The test breaks the servers, or needs all of the machine.
  public static var breakingServers: Self { ServerUse(isExclusive: true) }
}

/// Admits many tests at once, or one that must be alone; in the order of their arrival.
@LoopActor
final class ServerGate {
  static let shared = ServerGate()
  private var inside = 0
  private var isTaken = false
  private var waiting: [(isExclusive: Bool, CheckedContinuation<Void, Never>)] = []

  func enter(isExclusive: Bool) async {
    if waiting.isEmpty, mayEnter(isExclusive) { return take(isExclusive) }
    await withCheckedContinuation { waiting.append((isExclusive, $0)) }
  }

  func leave(isExclusive: Bool) {
    if isExclusive { isTaken = false } else { inside -= 1 }
    while let (isExclusive, next) = waiting.first, mayEnter(isExclusive) {
      waiting.removeFirst()
      take(isExclusive)
      next.resume()
    }
  }

  private func mayEnter(_ isExclusive: Bool) -> Bool { !isTaken && (!isExclusive || inside == 0) }

  private func take(_ isExclusive: Bool) {
    if isExclusive { isTaken = true } else { inside += 1 }
  }
}
