/// Work that runs once at the end of the loop's turn, even if the turn asks for it many times.
///
/// A turn ends when everything that can run now has run, and before the loop waits. So everything that a turn sends to
/// one peer goes out together. The owner of the work keeps this object, and the work holds its owner weakly.
@LoopActor
public final class EndOfTurn {
  private let work: @LoopActor () -> Void
  private var isPlanned = false

  /// Takes the work. It plans nothing yet.
  public init(_ work: @escaping @LoopActor () -> Void) { self.work = work }

  /// Plans the work for the end of this turn. Work that plans itself again runs again in the same turn.
  public func plan() {
    guard !isPlanned else { return }
    isPlanned = true
    EventLoop.process.add(self)
  }

  /// Runs the work now instead of at the end, if it is planned.
  public func runIfPlanned() {
    guard isPlanned else { return }
    isPlanned = false
    work()
  }

  /// Forgets the plan, because the caller has just done the work.
  public func forget() { isPlanned = false }
}
