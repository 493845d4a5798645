/// Work that is done once at the end of the loop's turn, however often the turn asks for it.
///
/// A turn ends when everything that can run now has run, and before the loop waits. So what a turn has to send to one
/// peer goes out together. The owner of the work keeps this object, and the work holds its owner weakly.
@LoopActor
public final class EndOfTurn {
  private let work: @LoopActor () -> Void
  private var isPlanned = false

  /// Takes the work; nothing is planned yet.
  public init(_ work: @escaping @LoopActor () -> Void) { self.work = work }

  /// Has the work done at the end of this turn. Work that plans itself again is done again in the same turn.
  public func plan() {
    guard !isPlanned else { return }
    isPlanned = true
    EventLoop.process.add(self)
  }

  /// Does the work now instead of at the end, if it is planned.
  public func runIfPlanned() {
    guard isPlanned else { return }
    isPlanned = false
    work()
  }

  /// Forgets the plan, because the work has just been done.
  public func forget() { isPlanned = false }
}
