public import EventLoop

/// Collects the values that callbacks bring, so that a test can wait for them.
@LoopActor
public final class Mailbox<Element: Sendable> {
  /// A wait, and whether a value has ended it.
  @LoopActor
  private final class Waiter {
    let isEnough: ([Element]) -> Bool
    let signal = LoopSignal()
    var isMet = false

    init(_ isEnough: @escaping ([Element]) -> Bool) { self.isEnough = isEnough }
  }

  /// Everything so far, in the order of arrival.
  public private(set) var all: [Element] = []
  private let what: String
  private let limit: Duration
  private var waiters: [Waiter] = []
  /// How many tests wait now.
  public var waits: Int { waiters.count }

  /// Creates an empty mailbox.
  ///
  /// - Parameters:
  ///   - what: what it collects, in the plural. It says what did not come when a wait was in vain.
  ///   - limit: how long a wait lasts at most.
  public init(of what: String, within limit: Duration = .patience) {
    self.what = what
    self.limit = limit
  }

  /// Puts something in.
  public func put(_ element: Element) {
    all.append(element)
    for waiter in waiters where waiter.isEnough(all) {
      waiter.isMet = true
      waiter.signal.notify()
    }
    waiters.removeAll { $0.isMet }
  }

  /// Waits until the content fulfils a condition and returns all of it.
  ///
  /// - Parameter wanted: which of the values it waits for, if that is not "more".
  /// - Throws: ``NeverHappened`` if it does not fulfil it within the mailbox's limit.
  @discardableResult
  public func wait(_ wanted: String = "more", until isEnough: @escaping ([Element]) -> Bool) async throws -> [Element] {
    guard !isEnough(all) else { return all }
    let waiter = Waiter(isEnough)
    waiters.append(waiter)
    defer { waiters.removeAll { $0 === waiter } }
    do {
      try await waiter.signal.wait(for: what, within: limit) { waiter.isMet }
    } catch is NeverHappened {
      throw NeverHappened(description: "\(what): \(all.count) came, and in \(limit) not the awaited (\(wanted))")
    }
    return all
  }

  /// Waits until there are so many values and returns all.
  @discardableResult
  public func wait(for count: Int) async throws -> [Element] { try await wait("\(count)") { $0.count >= count } }
}
