public import EventLoop

/// The running tasks of a role, so that it can wait for them when it stops.
@LoopActor
public final class RunningTasks {
  private var tasks: [Int: Task<Void, Never>] = [:]
  private var next = 0
  /// The number of the last task that has ended before it was in the set.
  private var endedAtOnce: Int?
  private let idle = LoopSignal()

  /// Whether the role stops and takes no more tasks.
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
      if tasks.isEmpty { idle.notify() }
    }
  }

  /// Starts a task that runs at once until it waits for the first time, so that what it sends keeps its order.
  public func startNow(_ body: @escaping @LoopActor () async -> Void) {
    let number = next
    next += 1
    let task = Task.immediate { @LoopActor in
      await body()
      if tasks.removeValue(forKey: number) == nil { endedAtOnce = number }
      if tasks.isEmpty { idle.notify() }
    }
    if endedAtOnce != number { tasks[number] = task }
  }

  /// Takes no more tasks from now on.
  public func close() { isClosed = true }

  /// Cancels all tasks, and does not wait for them.
  public func cancel() { for task in tasks.values { task.cancel() } }

  /// Waits until all tasks are done. After `grace` it cancels the rest and waits a little more.
  ///
  /// - Parameter more: how long it waits for what it has cancelled.
  /// - Returns: how many tasks it cancelled.
  @discardableResult
  public func finish(within grace: Duration, andThen more: Duration = .seconds(3)) async -> Int {
    await wait(atMost: grace)
    let left = tasks.count
    if left > 0 {
      cancel()
      await wait(atMost: more)
    }
    return left
  }

  /// Stops the chores that may still begin tasks, then waits as ``finish(within:)`` does, within the same grace.
  @discardableResult
  public func finish(within grace: Duration, after chores: Chore...) async -> Int {
    let deadline = Deadline(after: grace)
    for chore in chores { await chore.stop(within: deadline.left) }
    return await finish(within: deadline.left)
  }

  /// Waits until all tasks are done, but not longer than this.
  public func wait(atMost limit: Duration) async {
    if !tasks.isEmpty { await idle.wait(atMost: limit) }
  }
}
