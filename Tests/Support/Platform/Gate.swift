public import EventLoop

/// Holds its callers until a test opens it.
@LoopActor
public final class Gate {
  private var isOpen = false
  private let changed = LoopSignal()
  /// How many callers it holds now.
  public private(set) var held = 0

  /// Creates a closed gate.
  public init() {}

  /// Waits until the gate is open. A test that forgot to open it fails by itself, so the caller goes on at the limit.
  public func pass() async {
    held += 1
    changed.notify()
    try? await changed.wait(for: "the gate is opened") { isOpen }
    held -= 1
  }

  /// Lets all callers go on, those of today and those who come later.
  public func open() {
    isOpen = true
    changed.notify()
  }

  /// Waits until the gate holds so many callers.
  ///
  /// - Throws: ``NeverHappened`` if they do not come in time.
  public func holds(_ count: Int) async throws {
    try await changed.wait(for: "\(count) callers at the gate") { held >= count }
  }
}
