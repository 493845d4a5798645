import AMQP
import EventLoop
import Formats

/// Sends requests to a gateway at a steady rate, and measures the time from the moment when each was due to its answer
/// and to its event.
@LoopActor
struct DelayBenchmark {
  let backend: Backend
  let port: Int
  /// The status of each answer.
  let expected: Int
  /// The name of an event among ``run(_:names:connections:perSecond:)``'s names; `nil` for one that nobody waits for.
  let name: @LoopActor (AMQPDelivery) -> String?

  /// After this time without any event, the missing ones will not come.
  private static let patience = Duration.seconds(60)

  /// - Parameter names: the name of each request's event.
  func run(
    _ texts: [[UInt8]], names: [String], connections: Int, perSecond: Double
  ) async throws -> [String: Double] {
    try await backend.open()
    var arrivals: [ExactText: ContinuousClock.Instant] = [:]
    let arrived = LoopSignal()
    let wanted = Set(names.map(ExactText.init(_:)))
    let consumer = backend.events { received in
      if let name = name(received.delivery).map(ExactText.init(_:)), wanted.contains(name), arrivals[name] == nil {
        arrivals[name] = .now
        arrived.notify()
      }
      received.acknowledge()
    }
    consumer.start()
    while !consumer.isReady { try await EventLoop.sleep(for: .milliseconds(20)) }
    var due = [ContinuousClock.Instant](repeating: .now, count: texts.count)
    var result = try await GatewayBenchmark(port: port, expected: expected).run(
      texts, connections: connections, perSecond: perSecond, onDue: { due[$0] = $1 })
    while arrivals.count < wanted.count {
      let before = arrivals.count
      await arrived.wait(atMost: Self.patience)
      guard arrivals.count > before else {
        throw Unexpected(description: "\(arrivals.count) of \(wanted.count) events came, and no more")
      }
    }
    let times = zip(names, due).map { name, due in (arrivals[name]! - due).inSeconds * 1000 }
    for (key, value) in Percentiles(times).members { result["event.\(key)"] = value }
    await consumer.stop()
    await backend.close()
    return result
  }

  /// The id of an event.
  static func id(_ delivery: AMQPDelivery) -> String? { delivery.properties.messageID }

  /// The customer of a change of entitlements.
  static func customer(_ delivery: AMQPDelivery) -> String? {
    guard delivery.routingKey.hasPrefix("entitlementsChanged.") else { return nil }
    return String(decoding: delivery.body, as: UTF8.self).split(separator: "\"customerId\":\"").dropFirst().first?
      .prefix { $0 != "\"" }.description
  }
}
