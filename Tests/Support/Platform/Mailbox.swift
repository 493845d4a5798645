public import EventLoop

/// Collects the values that callbacks bring, so that a test can wait for them.
@LoopActor
public final class Mailbox<Element: Sendable> {
  /// Everything so far, in the order of arrival.
  public private(set) var all: [Element] = []
  private var waiters: [(isMet: ([Element]) -> Bool, CheckedContinuation<Void, Never>)] = []

  /// Creates an empty mailbox.
  public init() {}

  /// Puts something in.
  public func put(_ element: Element) {
    all.append(element)
    let met = waiters.filter { $0.isMet(all) }
    waiters.removeAll { $0.isMet(all) }
    for waiter in met { waiter.1.resume() }
  }

  /// Waits until the content fulfils a condition and returns all of it; a test's time limit ends a vain wait.
  public func wait(until isMet: @escaping ([Element]) -> Bool) async -> [Element] {
    if !isMet(all) { await withCheckedContinuation { waiters.append((isMet, $0)) } }
    return all
  }

  /// Waits until there are so many values and returns all.
  public func wait(for count: Int) async -> [Element] { await wait { $0.count >= count } }
}
