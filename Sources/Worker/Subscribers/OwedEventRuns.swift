import Configuration
import Domain
import EventLoop
import Formats
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
  /// The subscribers of the configuration, and those that were owed events all the same.
  private var known: Set<String>
  private var countedAt: ContinuousClock.Instant?
  private let runs = RunningTasks()

  init(_ context: RoleContext, _ ledger: PostgresClient, _ subscribers: EventSubscribers) {
    self.context = context
    owed = OwedEvents(ledger)
    self.subscribers = subscribers
    let names = subscribers.outlets.map(\.name)
    known = Set(names)
    waiting = context.metrics.gauge(
      "countersign_subscriber_owed_events", "Events that the ledger owes a subscriber.", labels: ["subscriber"])
    oldest = context.metrics.gauge(
      "countersign_subscriber_oldest_owed_seconds",
      "How long a subscriber has missed the oldest event that it is owed.",
      labels: ["subscriber"])
    givenUp = context.metrics.counter(
      "countersign_subscriber_events_given_up_total", "Events that a subscriber will not get any more.",
      labels: ["subscriber"], known: names.map { [$0] })
    for name in names {
      waiting.set(0, name)
      oldest.set(0, name)
    }
  }

  /// Tries what is due, and counts what is owed from time to time. A subscriber whose last try still runs is left out.
  func look() {
    guard !runs.isClosed else { return }
    if countedAt.map({ .now - $0 >= Self.countInterval }) ?? true {
      countedAt = .now
      runs.start { [self] in
        do {
          try await count(givingUpAfter: context.settings.notifier.logRetention)
        } catch {
          context.log.ledgerFailure("what subscribers are owed could not be counted", error)
        }
      }
    }
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
            try await outlet.publish(each.event, isOwed: true)
            return nil
          } catch {
            return error
          }
        }
      }
      var settled: [String] = []
      var failed: [(id: String, pause: Duration, cause: String)] = []
      var progress = 0
      for (each, task) in zip(events, trying) {
        let failure = await task.value
        // The broker has answered: a queue may have other events, although nobody wants this one.
        if failure?.isUnwanted ?? true { progress += 1 }
        if let failure, !(failure.isUnwanted && SubscriberPace.isUnwanted(afterTries: each.tries)) {
          failed.append((each.event.id, SubscriberPace.pause(afterTries: each.tries + 1), failure.cause))
        } else {
          settled.append(each.event.id)
        }
      }
      outlet.endRetry(confirmed: progress)
      try await owed.settle(settled, of: outlet.name)
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

  /// How often the numbers are read.
  private static let countInterval = Duration.seconds(30)
  private static let givenUpAtOnce = 1000

  /// Counts what is owed, and gives up what is too old.
  private func count(givingUpAfter age: Duration) async throws {
    var lost: [String: Int64] = [:]
    repeat {
      lost = try await owed.giveUp(after: age, limit: Self.givenUpAtOnce)
      for (subscriber, count) in lost {
        givenUp.add(Double(count), subscriber)
        context.log.error(
          "a subscriber has not taken events for too long; they are given up",
          ["subscriber": .string(subscriber), "events": .int(count)])
      }
    } while lost.values.reduce(0, +) == Int64(Self.givenUpAtOnce) && !runs.isClosed
    let now = context.now()
    let debts = try await owed.debts(of: known.sorted())
    for debt in debts {
      waiting.set(Double(debt.count), debt.subscriber)
      oldest.set(debt.oldest.map { Double(max(0, now.subtracting($0))) / 1000 } ?? 0, debt.subscriber)
      // Whoever left the configuration, or is only in that of another role.
      if known.insert(debt.subscriber).inserted {
        context.log.warning(
          "the ledger owes events to a subscriber that this configuration does not name: nobody tries them. Name it "
            + "in events.subscribers, or run `countersign subscribers --forget`",
          ["subscriber": .string(debt.subscriber), "events": .int(debt.count)])
      }
    }
  }

  /// Begins nothing more.
  func close() { runs.close() }

  /// Ends what has begun.
  func finish(within grace: Duration) async { await runs.finish(within: grace) }
}
