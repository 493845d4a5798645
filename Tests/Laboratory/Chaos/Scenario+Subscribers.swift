import AMQP
import EventLoop
import Fleets
import Messaging
import TestSupport

extension Scenario {
  /// Subscribers whose queues take nothing: one is full, one refuses everything, and one has no majority.
  ///
  /// The checker reads events as a subscriber at the shared exchange. At the end, each bad subscriber gets what it
  /// missed.
  static let badSubscriber = Scenario(
    name: "bad-subscriber", what: "subscribers' queues full, refusing, without a majority",
    environment: ["COUNTERSIGN_EVENTS_SUBSCRIBERS": BadSubscriber.allCases.map(\.rawValue).joined(separator: ",")],
    leastSeconds: 32,
    inject: { chaos in
      // In a full run, some seconds are the measure for the rest. The first ones do not count: the roles have just
      // started.
      if !chaos.size.isQuick { try await chaos.pause(5...5) }
      let measuredFrom = unixMilliseconds()
      if !chaos.size.isQuick { try await chaos.pause(12...12) }
      let troubleFrom = unixMilliseconds()
      for subscriber in BadSubscriber.allCases {
        try await chaos.declareQueue(of: subscriber)
        chaos.injected(subscriber.rawValue)
      }
      chaos.subscribedAt = unixMilliseconds()
      try await TestServers.current!.stall(queue: chaos.queue(of: .silent))
      try await chaos.loadEnds()
      try await eventually("every event is told") { chaos.isAllTold }
      if !chaos.size.isQuick { try chaos.compareDelays(measuredFrom..<troubleFrom) }
    },
    heal: { chaos in
      try await TestServers.current!.unstall(queue: chaos.queue(of: .silent))
      try await chaos.readMissed()
    })
}

/// A subscriber that makes trouble.
enum BadSubscriber: String, CaseIterable {
  /// Its queue has room for ten events.
  case full
  /// Its queue has no room at all.
  case refusing
  /// Its queue confirms nothing.
  case silent

  var arguments: [String: AMQPValue] {
    switch self {
    case .full: ["x-queue-type": "quorum", "x-max-length": 10, "x-overflow": "reject-publish"]
    case .refusing: ["x-queue-type": "classic", "x-max-length": 0, "x-overflow": "reject-publish"]
    case .silent: ["x-queue-type": "quorum"]
    }
  }
}

extension Chaos {
  /// Compares the delays of the events before and while the bad subscribers were there.
  ///
  /// - Parameter quiet: when they were not, in milliseconds since 1970.
  fileprivate func compareDelays(_ quiet: Range<Int64>) throws {
    let first = history.events.reduce(into: [String: Int64]()) {
      $0[$1.synchronizationId] = min($0[$1.synchronizationId] ?? .max, $1.at)
    }
    func p99(_ registrations: [History.Registration]) -> Int64? {
      let delays = registrations.compactMap { each in first[each.id].map { $0 - each.answeredAt } }.sorted()
      return delays.isEmpty ? nil : delays[(delays.count * 99 - 1) / 100]
    }
    guard let before = p99(history.accepted.filter { quiet.contains($0.answeredAt) }),
      let during = p99(history.accepted.filter { $0.sentAt > subscribedAt })
    else { throw ScenarioFailure(description: "there is no delay to compare with") }
    history.measures.append("p99 of the events' delay: \(before) ms before, \(during) ms with them")
    guard during <= 2 * before else {
      throw ScenarioFailure(description: "the p99 of the delay grew from \(before) ms to \(during) ms")
    }
  }

  fileprivate func queue(of subscriber: BadSubscriber) -> String { "\(fleet.topology.prefix).bad.\(subscriber)" }

  fileprivate func declareQueue(of subscriber: BadSubscriber) async throws {
    let queue = queue(of: subscriber)
    try await onChannel { channel in
      try await self.fleet.topology.declareEvents(for: subscriber.rawValue, on: channel)
      try await channel.declareQueue(queue, arguments: subscriber.arguments)
      try await channel.bindQueue(
        queue, to: self.fleet.topology.events(for: subscriber.rawValue), routingKey: "inappPurchaseSyncResult.*")
    }
  }

  /// Gives each bad subscriber a queue that has room, and waits until it has the event of every accepted
  /// synchronization.
  fileprivate func readMissed() async throws {
    for subscriber in BadSubscriber.allCases {
      let queue = queue(of: subscriber)
      let (good, exchange) = (queue + ".good", fleet.topology.events(for: subscriber.rawValue))
      let mailbox = Mailbox<String>(of: "events of the replaced queue")
      let reader = AMQPConsumer(
        { TestServers.current!.rabbitmq }, name: "good \(subscriber)", queue: good, prefetch: 100, onChange: { _ in },
        declare: { channel in
          try await channel.declareQueue(good, arguments: ["x-queue-type": "quorum"])
          try await channel.bindQueue(good, to: exchange, routingKey: "inappPurchaseSyncResult.*")
        },
        handler: { received in
          if let id = RunningFleet.synchronizationId(of: received.delivery) { mailbox.put(id) }
          received.acknowledge()
        })
      reader.start()
      try await eventually("the queue of \(subscriber) is replaced") { reader.isReady }
      try await onChannel { channel in
        // What the bad queue has taken counts, too.
        try await channel.unbindQueue(queue, from: exchange, routingKey: "inappPurchaseSyncResult.*")
        try await channel.consume(queue, tag: "old") { delivery in
          if let id = RunningFleet.synchronizationId(of: delivery) { mailbox.put(id) }
          channel.acknowledge(delivery)
        }
        do {
          try await untilNothingIsMissing("\(subscriber) has every event") {
            let told = Set(mailbox.all)
            return self.history.accepted.filter { $0.sentAt > self.subscribedAt }.map(\.id)
              .filter { !told.contains($0) }
          }
        } catch let error as NeverHappened {
          throw ScenarioFailure(description: error.description)
        }
        try await channel.deleteQueue(queue)
      }
      await reader.stop()
      try await onChannel { _ = try? await $0.deleteQueue(good) }
    }
  }

  private func onChannel(_ body: @LoopActor (AMQPChannel) async throws -> Void) async throws {
    let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "bad subscriber")
    do {
      try await body(try await connection.openChannel())
      await connection.close()
    } catch {
      await connection.close()
      throw error
    }
  }
}
