public import Domain

/// The events that a commit has written. They are in the outbox, and the role's one outlet publishes them.
///
/// A commit returns this value and not the events, so that no caller keeps them to itself. For example, a timer's look
/// that commits a lapse and forgets to publish it would be seen seconds later only, when a sweep finds the event.
///
/// The compiler proves that nobody copies the value, and that nobody has it any more once the outlet does: one holder
/// publishes an event once. It does not prove that the outlet gets it. Swift destroys a noncopyable value that nobody
/// consumes (`discard self` would need members without memory of their own), so the end of such a value traps in debug
/// builds, as all tests run. In a release build the outbox still has the events, and its sweep publishes them: a trap
/// would lose more than it mends.
public struct Told: ~Copyable, Sendable {
  private var events: [Event]

  /// Holds events that a commit has written.
  package init(_ events: [Event]) { self.events = events }

  /// Whether the commit told nothing.
  public var isEmpty: Bool { events.isEmpty }

  /// How many events the commit told.
  public var count: Int { events.count }

  /// Takes the events, in their order. Only `EventOutlet` calls it.
  public consuming func takeEvents() -> [Event] {
    let taken = events
    events = []
    return taken
  }

  /// Leaves the events to the sweep of the outbox: a role without a broker has no outlet. They go out seconds later.
  public consuming func leaveInOutbox() { events = [] }

  deinit { assert(events.isEmpty, "events of a commit were given to no outlet: \(events.map(\.topic))") }
}

/// A finalized synchronization, and the events that its commit has written.
public struct FinalizedSynchronization: ~Copyable, Sendable {
  private let finalized: Finalized
  private let told: Told

  /// Takes a result of the domain that is committed.
  package init(_ finalized: Finalized) {
    self.finalized = finalized
    told = Told(finalized.events)
  }

  public var synchronization: Synchronization { finalized.synchronization }

  /// Gives out the events for the outlet.
  public consuming func takeTold() -> Told { told }
}
