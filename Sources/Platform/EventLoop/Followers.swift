/// Those who follow the changes of something, in the order in which they began.
@LoopActor
public final class Followers<Change> {
  private var handlers: [@LoopActor (Change) -> Void] = []

  /// Creates an empty list.
  public init() {}

  /// Calls a handler at each change from now on.
  public func add(_ handler: @escaping @LoopActor (Change) -> Void) { handlers.append(handler) }

  /// Tells a change to all.
  public func tell(_ change: Change) { for handler in handlers { handler(change) } }
}
