import Configuration
import Domain
import EventLoop
import Formats
import Ledger
import Observability
import Service

/// Tries the events again that subscribers miss, each subscriber at its own pace.
@LoopActor
final class OwedEventRuns: RoleService {
  /// What the looks work with.
  @LoopActor
  struct Dependencies {
    let context: RoleContext
    let ledger: any OwedEventLedger
    /// One for each subscriber of the configuration.
    let subscribers: [any OwedSubscriber]
    /// Publishes an event to a subscriber, by its name, if it is told.
    let publish: @LoopActor (Event, String) async throws(SubscriberOutlet.Failure) -> EventTelling
    /// Whether the ledger can be asked.
    let isReady: @LoopActor () -> Bool
  }

  private let dependencies: Dependencies
  private let metrics: OwedEventMetrics
  let runs = RunningTasks()
  private var underWay: Set<String> = []
  /// The subscribers of the configuration, and others that were owed events all the same.
  private var known: Set<String>
  private lazy var looks = Chore(every: Self.interval, isReady: dependencies.isReady) { [weak self] in self?.look() }
  private lazy var counts = Chore(
    every: Self.interval, isReady: { [weak self] in self?.mustCount ?? false },
    look: { [weak self] in await self?.count() })
  private var countedAt: ContinuousClock.Instant?

  /// How often a worker looks for what it may try again.
  private static let interval = Duration.seconds(2)
  /// How often the numbers are read.
  private static let countInterval = Duration.seconds(30)
  private static let givenUpAtOnce = 1000

  init(_ dependencies: Dependencies) {
    self.dependencies = dependencies
    let names = dependencies.subscribers.map(\.name)
    known = Set(names)
    metrics = OwedEventMetrics(dependencies.context.metrics, names)
  }

  func start() {
    looks.start()
    counts.start()
  }

  /// Begins nothing more.
  func close() {
    looks.close()
    counts.close()
    runs.close()
  }

  /// Ends what has begun.
  func stop(within grace: Duration) async {
    close()
    await runs.finish(within: grace, after: looks, counts)
  }

  /// Begins to try what is due. A subscriber whose last try still runs is left out.
  func look() {
    guard !runs.isClosed else { return }
    for subscriber in dependencies.subscribers
    where subscriber.retries > 0 && underWay.insert(subscriber.name).inserted {
      runs.start { [self] in
        do {
          try await publish(to: subscriber)
        } catch {
          dependencies.context.log.ledgerFailure("events that a subscriber misses could not be read", error)
        }
        underWay.remove(subscriber.name)
      }
    }
  }

  /// Publishes until nothing is due, or the subscriber takes nothing. The events of publishers in shadow mode are
  /// settled without it.
  private func publish(to subscriber: any OwedSubscriber) async throws {
    while !runs.isClosed, case let limit = subscriber.retries, limit > 0 {
      let owed = try await dependencies.ledger.take(for: subscriber.name, limit: limit)
      guard !owed.isEmpty else { return }
      let round = await OwedRound(tries(of: owed, to: subscriber))
      if round.asked > 0 { subscriber.endRetry(confirmed: round.progress) }
      try await dependencies.ledger.settle(round.settled, of: subscriber.name)
      try await dependencies.ledger.putOff(round.putOff, of: subscriber.name)
      if round.missed > 0 {
        dependencies.context.log.warning(
          "a subscriber does not accept its events",
          [
            "subscriber": .string(subscriber.name), "events": .int(Int64(round.missed)),
            "cause": .string(round.cause),
          ])
      }
      guard owed.count == limit else { return }
    }
  }

  /// Publishes all at once, and returns when each has its answer.
  private func tries(
    of owed: [OwedEvents.Owed], to subscriber: any OwedSubscriber
  ) async -> [(owed: OwedEvents.Owed, end: OwedRound.End)] {
    let publishing = owed.map { each in
      Task.immediate { @LoopActor () -> OwedRound.End in
        do throws(SubscriberOutlet.Failure) {
          return .success(try await dependencies.publish(each.event, subscriber.name))
        } catch {
          return .failure(error)
        }
      }
    }
    var tries: [(owed: OwedEvents.Owed, end: OwedRound.End)] = []
    for (each, task) in zip(owed, publishing) { tries.append((each, await task.value)) }
    return tries
  }

  private var mustCount: Bool {
    dependencies.isReady() && countedAt.map { .now - $0 >= Self.countInterval } ?? true
  }

  func count() async {
    countedAt = .now
    do {
      try await giveUp(after: dependencies.context.settings.notifier.logRetention)
      for debt in try await dependencies.ledger.debts(of: known.sorted()) { note(debt) }
    } catch {
      dependencies.context.log.ledgerFailure("events that subscribers are owed could not be counted", error)
    }
  }

  /// Gives up what is too old.
  private func giveUp(after age: Duration) async throws {
    var lost: [String: Int64] = [:]
    repeat {
      lost = try await dependencies.ledger.giveUp(after: age, limit: Self.givenUpAtOnce)
      for (subscriber, count) in lost {
        metrics.givenUp.add(Double(count), subscriber)
        dependencies.context.log.error(
          "a subscriber has not accepted events for too long; they are given up",
          ["subscriber": .string(subscriber), "events": .int(count)])
      }
    } while lost.values.reduce(0, +) == Int64(Self.givenUpAtOnce) && !runs.isClosed
  }

  private func note(_ debt: OwedEvents.Debt) {
    metrics.note(debt, now: dependencies.context.now())
    // Whoever left the configuration, or is only in that of another role.
    guard known.insert(debt.subscriber).inserted else { return }
    dependencies.context.log.warning(
      "the ledger owes events to a subscriber that this configuration does not name, so no worker publishes them: name it "
        + "in events.subscribers, or run `countersign subscribers --forget`",
      ["subscriber": .string(debt.subscriber), "events": .int(debt.count)])
  }
}

extension OwedEventRuns.Dependencies {
  /// Those of a worker.
  init(_ parts: WorkerParts) {
    self.init(
      context: parts.context, ledger: OwedEvents(parts.ledger.postgres), subscribers: parts.subscribers.outlets,
      publish: { [outlet = parts.outlet] event, name throws(SubscriberOutlet.Failure) in
        try await outlet.publishOwed(event, to: name)
      },
      isReady: { [ledger = parts.ledger] in ledger.isReady })
  }
}
