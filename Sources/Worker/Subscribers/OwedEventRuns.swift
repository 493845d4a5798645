import Domain
import EventLoop
import Ledger
import Observability
import Postgres
import Service

/// Tries the events again that subscribers miss, each subscriber at its own pace.
@LoopActor
final class OwedEventRuns {
  private let context: RoleContext
  private let owed: OwedEvents
  private let subscribers: EventSubscribers
  private let waiting: Gauge
  private let oldest: Gauge
  private let givenUp: Counter
  private var underWay: Set<String> = []
  /// The subscribers with a number: also those that the configuration does not name any more.
  private var shown: Set<String>
  private let runs = RunningTasks()

  init(_ context: RoleContext, _ ledger: PostgresClient, _ subscribers: EventSubscribers) {
    self.context = context
    owed = OwedEvents(ledger)
    self.subscribers = subscribers
    let names = subscribers.outlets.map(\.name)
    waiting = context.metrics.gauge(
      "countersign_subscriber_owed_events", "Events that the ledger owes a subscriber.", labels: ["subscriber"])
    oldest = context.metrics.gauge(
      "countersign_subscriber_oldest_owed_seconds",
      "How long a subscriber has missed the oldest event that it is owed.",
      labels: ["subscriber"])
    givenUp = context.metrics.counter(
      "countersign_subscriber_events_given_up_total", "Events that a subscriber will not get any more.",
      labels: ["subscriber"], known: names.map { [$0] })
    shown = Set(names)
    for name in names {
      waiting.set(0, name)
      oldest.set(0, name)
    }
  }

  /// Tries what is due. A subscriber whose last try still runs is left out.
  func look() {
    guard !runs.isClosed else { return }
    for outlet in subscribers.outlets where outlet.retries > 0 && underWay.insert(outlet.name).inserted {
      runs.start { [self] in
        do {
          try await publish(to: outlet)
        } catch {
          context.log.ledgerFailure("events that a subscriber misses could not be read", error)
        }
        underWay.remove(outlet.name)
      }
    }
  }

  /// Publishes until nothing is due, or the subscriber takes nothing.
  private func publish(to outlet: SubscriberOutlet) async throws {
    while !runs.isClosed, case let limit = outlet.retries, limit > 0 {
      let events = try await owed.take(for: outlet.name, limit: limit)
      guard !events.isEmpty else { return }
      let trying = events.map { each in
        Task.immediate { @LoopActor () -> SubscriberOutlet.Failure? in
          do throws(SubscriberOutlet.Failure) {
            try await outlet.publish(each.event)
            return nil
          } catch {
            return error
          }
        }
      }
      var confirmed: [String] = []
      var failed: [(id: String, pause: Duration, cause: String)] = []
      for (each, task) in zip(events, trying) {
        if let failure = await task.value {
          failed.append((each.event.id, SubscriberPace.pause(afterTries: each.tries + 1), failure.cause))
        } else {
          confirmed.append(each.event.id)
        }
      }
      outlet.endRetry(confirmed: confirmed.count, of: events.count)
      try await owed.settle(confirmed, of: outlet.name)
      try await owed.putOff(failed, of: outlet.name)
      if !failed.isEmpty {
        context.log.warning(
          "a subscriber does not take its events",
          [
            "subscriber": .string(outlet.name), "events": .int(Int64(failed.count)), "cause": .string(failed[0].cause),
          ])
      }
      guard events.count == limit else { return }
    }
  }

  /// Counts what is owed, and gives up what is too old.
  func count(givingUpAfter age: Duration) async throws {
    let lost = try await owed.giveUp(after: age, limit: 10_000)
    for (subscriber, count) in lost {
      givenUp.add(Double(count), subscriber)
      context.log.error(
        "a subscriber has not taken events for too long; they are given up",
        ["subscriber": .string(subscriber), "events": .int(count)])
    }
    let states = try await owed.states()
    let now = context.now()
    shown.formUnion(states.map(\.subscriber))
    for name in shown {
      let state = states.first { $0.subscriber == name }
      waiting.set(Double(state?.count ?? 0), name)
      oldest.set(state.map { Double(max(0, now - $0.oldest)) / 1000 } ?? 0, name)
    }
  }

  /// Begins nothing more.
  func close() { runs.close() }

  /// Ends what has begun.
  func finish(within grace: Duration) async { await runs.finish(within: grace) }
}
