public import Domain
public import EventLoop

/// The queues in which events and deliveries wait for a notifier, as one process uses them.
///
/// The process counts what it publishes for each publisher. So an event of few never stands behind a burst of another
/// publisher, however long that is. Notifiers take from all queues. The class decides only who goes first in a
/// notifier; what becomes of a delivery is the same.
@LoopActor
public final class DeliveryQueues {
  private let topology: Topology
  private let clock: @LoopActor () -> Duration
  private var paces = EventPaces()

  /// Creates the queues of a topology.
  ///
  /// - Parameter clock: a time that never goes back; `nil` is the machine's.
  public init(_ topology: Topology, clock: (@LoopActor () -> Duration)? = nil) {
    self.topology = topology
    let start = ContinuousClock.now
    self.clock = clock ?? { ContinuousClock.now - start }
  }

  /// Returns the queue for the next event or delivery of a publisher, and counts it.
  public func next(of publisher: PublisherId) -> String { topology.deliveries(paces.add(publisher, at: clock())) }
}
