import Coordination
import Domain
import EventLoop
import Ledger
import Service

/// The attempts that this process makes now.
///
/// The process renews the slot of each attempt as long as it lasts. If the process dies, Redis frees the slots soon.
@LoopActor
final class AttemptsUnderWay: RoleService {
  /// How long a slot stays taken without being renewed.
  static let lease: Duration = .seconds(5)
  private static let interval: Duration = .milliseconds(1500)

  private struct Attempt {
    let delivery: Delivery
    let endpoint: EndpointId
    let start: ContinuousClock.Instant
  }

  private let pacing: EndpointPacing
  private var attempts: [Int: Attempt] = [:]
  private var next = 0
  private lazy var renewals = Chore(every: Self.interval, after: Self.interval, .last) { [weak self] in self?.renew() }

  init(_ pacing: EndpointPacing) { self.pacing = pacing }

  /// Begins to renew the slots.
  func start() { renewals.start() }

  /// Does nothing: each attempt needs its slot until its end.
  func close() {}

  /// Stops renewing the slots.
  func stop(within grace: Duration) async { await renewals.stop(within: grace) }

  /// Notes an attempt that begins.
  ///
  /// - Returns: its number, for ``remove(_:)``.
  func add(_ delivery: Delivery, endpoint: EndpointId) -> Int {
    next += 1
    attempts[next] = Attempt(delivery: delivery, endpoint: endpoint, start: .now)
    return next
  }

  /// Notes the end of an attempt.
  func remove(_ number: Int) { attempts[number] = nil }

  private func renew() {
    let long = attempts.values.filter { ContinuousClock.now - $0.start > Self.interval }
    guard !long.isEmpty else { return }
    // Nobody waits for this. The next renewal repeats one that failed. A slot that was lost meanwhile does no harm:
    // at most one attempt more is under way.
    Task { @LoopActor in
      try? await pacing.renew(long.map { ($0.delivery, $0.endpoint) }, lease: Self.lease)
    }
  }
}
