public import EventLoop

/// The tasks that a role has in hand, so that it can wait for them when it stops.
@LoopActor
public final class RunningTasks {
  private var tasks: [Int: Task<Void, Never>] = [:]
  private var next = 0
  private var waiters: [CheckedContinuation<Void, Never>] = []

  /// Whether the role stops and takes no more.
  public private(set) var isClosed = false

  /// Creates an empty set.
  public init() {}

  /// How many tasks are running.
  public var count: Int { tasks.count }

  /// Starts a task.
  public func start(_ body: @escaping @LoopActor () async -> Void) {
    let number = next
    next += 1
    tasks[number] = Task { @LoopActor in
      await body()
      tasks[number] = nil
      if tasks.isEmpty { wake() }
    }
  }

  /// Says that no more is taken.
  public func close() { isClosed = true }

  /// Waits until all tasks are done; cancels what is left after `grace` and waits a little more.
  ///
  /// - Returns: how many had to be cancelled.
  @discardableResult
  public func finish(within grace: Duration) async -> Int {
    await wait(atMost: grace)
    let left = tasks.count
    if left > 0 {
      for task in tasks.values { task.cancel() }
      await wait(atMost: .seconds(3))
    }
    return left
  }

  private func wait(atMost limit: Duration) async {
    guard !tasks.isEmpty else { return }
    let timer = LoopTimer { [weak self] in self?.wake() }
    timer.start(after: limit)
    await withCheckedContinuation { waiters.append($0) }
    timer.close()
  }

  private func wake() {
    for waiter in waiters { waiter.resume() }
    waiters.removeAll()
  }
}
