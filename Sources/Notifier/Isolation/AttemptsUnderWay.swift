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
  static let interval: Duration = .milliseconds(1500)

  private struct Attempt {
    let slot: HeldSlot
    let start: Duration
  }

  private let renewSlots: @LoopActor ([HeldSlot]) async throws -> Void
  private let clock: @LoopActor () -> Duration
  private var attempts: [Int: Attempt] = [:]
  private var next = 0
  private lazy var renewals = Chore(every: Self.interval, after: Self.interval, .last) { [weak self] in self?.renew() }
  /// What is sent to Redis. The runs do not wait for it, and a trip that hangs keeps no later one away.
  private let sending = RunningTasks()

  /// - Parameters:
  ///   - clock: a time that never goes back; `nil` is the machine's.
  ///   - renewSlots: keeps slots for another ``lease``.
  init(
    clock: (@LoopActor () -> Duration)? = nil, renewSlots: @escaping @LoopActor ([HeldSlot]) async throws -> Void
  ) {
    let start = ContinuousClock.now
    self.clock = clock ?? { ContinuousClock.now - start }
    self.renewSlots = renewSlots
  }

  /// Begins to renew the slots.
  func start() { renewals.start() }

  /// Does nothing: each attempt needs its slot until its end.
  func close() {}

  /// Stops renewing the slots.
  func stop(within grace: Duration) async { await sending.finish(within: grace, after: renewals) }

  /// Notes an attempt that begins.
  ///
  /// - Returns: its number, for ``remove(_:)``.
  func add(_ delivery: Delivery, endpoint: EndpointId) -> Int {
    next += 1
    attempts[next] = Attempt(slot: HeldSlot(delivery, at: endpoint), start: clock())
    return next
  }

  /// Notes the end of an attempt.
  func remove(_ number: Int) { attempts[number] = nil }

  /// Gives a slot back. The run does not wait for it: a slot that stays ends with its lease.
  func giveBack(_ release: @escaping @LoopActor () async throws -> Void) {
    sending.startNow { try? await release() }
  }

  /// Renews the slots of the attempts that have lasted for an interval. Most end before.
  func renew() {
    let now = clock()
    let long = attempts.values.filter { now - $0.start > Self.interval }
    guard !long.isEmpty else { return }
    // The next renewal repeats one that failed. A slot that was lost meanwhile does no harm: at most one attempt more
    // is under way.
    sending.startNow { [renewSlots] in try? await renewSlots(long.map(\.slot)) }
  }
}
