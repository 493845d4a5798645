import EventLoop
import Ledger

/// The attempts that this process makes now: their slots are kept as long as they last, and come free by themselves soon
/// after the process has died.
@LoopActor
final class AttemptsUnderWay {
  /// How long a slot stays taken without being renewed.
  static let lease: Duration = .seconds(5)
  private static let interval: Duration = .milliseconds(1500)

  private struct Attempt {
    let delivery: Delivery
    let endpoint: String
    let start: ContinuousClock.Instant
  }

  private let store: DeliveryStore
  private var attempts: [Int: Attempt] = [:]
  private var next = 0
  private var timer: LoopTimer?

  init(_ store: DeliveryStore) { self.store = store }

  /// Begins to renew.
  func start() {
    let timer = LoopTimer { [weak self] in self?.renew() }
    timer.start(after: Self.interval, every: Self.interval)
    self.timer = timer
  }

  /// Renews no more.
  func stop() {
    timer?.close()
    timer = nil
  }

  /// Notes an attempt that begins.
  ///
  /// - Returns: its number, for ``remove(_:)``.
  func add(_ delivery: Delivery, endpoint: String) -> Int {
    next += 1
    attempts[next] = Attempt(delivery: delivery, endpoint: endpoint, start: .now)
    return next
  }

  /// Notes the end of an attempt.
  func remove(_ number: Int) { attempts[number] = nil }

  private func renew() {
    let long = attempts.values.filter { ContinuousClock.now - $0.start > Self.interval }
    guard !long.isEmpty else { return }
    // Nobody waits for it: what fails is done again the next time, and a slot that was lost meanwhile does no harm but
    // that one attempt more may be under way.
    Task { @LoopActor in
      try? await store.renew(long.map { ($0.delivery, $0.endpoint) }, lease: Self.lease)
    }
  }
}
