import Domain
import EventLoop
import Ledger
import Service

/// The part of the ledger that has what subscribers are owed. Every method throws `PostgresError`.
@LoopActor
protocol OwedEventLedger {
  /// Takes events that are due.
  func take(for subscriber: String, limit: Int) async throws -> [OwedEvents.Owed]
  /// Notes that the subscriber has events, or will not get them.
  func settle(_ eventIds: [EventId], of subscriber: String) async throws
  /// Lets events wait.
  func putOff(_ events: [OwedEvents.PutOff], of subscriber: String) async throws
  /// Gives up what is too old; returns how many events of each subscriber.
  func giveUp(after age: Duration, limit: Int) async throws -> [String: Int64]
  /// What these subscribers are owed, and all others that are owed anything.
  func debts(of subscribers: [String]) async throws -> [OwedEvents.Debt]
}

extension OwedEvents: OwedEventLedger {}

/// A subscriber that may miss events. The role's one outlet publishes to it.
@LoopActor
protocol OwedSubscriber {
  var name: String { get }
  /// How many events may be published again now.
  var retries: Int { get }
  /// Notes the end of a retry, and how many events the broker has taken, or had no queue for.
  func endRetry(confirmed: Int)
}

extension SubscriberOutlet: OwedSubscriber {}
