/// Work that runs once at the end of the loop's turn, even if the turn asks for it many times.
///
/// A turn ends when everything that can run now has run, and before the loop waits. So everything that a turn sends to
/// one peer goes out together. The owner of the work keeps this object, and the work holds its owner weakly.
@LoopActor
public final class EndOfTurn {
  /// The name of the work.
  let work: LoopWork
  private let action: @LoopActor () -> Void
  private var isPlanned = false

  /// Takes the work. It plans nothing yet.
  ///
  /// - Parameter place: who plans it, for the log of slow turns.
  public init(at place: StaticString = #fileID, _ action: @escaping @LoopActor () -> Void) {
    work = LoopWork(.endOfTurn, place)
    self.action = action
  }

  /// Plans the work for the end of this turn.
  ///
  /// Work that plans itself again runs again in the same turn, some times at most: then the loop looks at its
  /// descriptors and timers first.
  public func plan() {
    guard !isPlanned else { return }
    isPlanned = true
    EventLoop.process.add(self)
  }

  /// Runs the work now instead of at the end, if it is planned.
  public func runIfPlanned() {
    guard isPlanned else { return }
    isPlanned = false
    action()
  }

  /// Forgets the plan, because the caller has just done the work.
  public func forget() { isPlanned = false }
}
