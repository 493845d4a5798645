import EventLoop
import Glibc

/// Waits for SIGTERM or SIGINT; a second one ends the process at once.
@LoopActor
final class StopSignals {
  private var watchers: [SignalWatcher] = []
  private var waiter: CheckedContinuation<Void, Never>?
  private var hasCome = false

  init() {
    watchers = [SIGTERM, SIGINT].map { signal in SignalWatcher(signal) { [weak self] in self?.came() } }
  }

  func first() async {
    guard !hasCome else { return }
    await withCheckedContinuation { waiter = $0 }
  }

  private func came() {
    if hasCome { exit(130) }
    hasCome = true
    waiter?.resume()
    waiter = nil
  }
}
