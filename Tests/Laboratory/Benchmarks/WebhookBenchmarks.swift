import AMQP
import Domain
import EventLoop
import HTTP
import HTTPClient
import Ledger
import Messaging
import Postgres

/// The parts of the notifier's benchmark: endpoints, events for them, and the floors of both its sides.
@LoopActor
struct WebhookBenchmarks {
  let backend: Backend

  /// The most endpoints of one publisher; the next endpoint belongs to the next publisher id.
  private static let endpointsOfPublisher = 1000

  private static func publisher(of endpoint: Int) -> PublisherId {
    PublisherId(Backend.publisher.number + Int64(endpoint / endpointsOfPublisher))
  }

  /// Makes endpoints, each with a topic of its own.
  ///
  /// - Parameters:
  ///   - first: the number of the first endpoint; the ones before it stay as they are.
  ///   - path: how the receiver answers, see ``LoadReceiver``.
  ///   - bad: of every ten endpoints, one never answers and one has an address where nobody listens.
  func makeEndpoints(
    _ count: Int, from first: Int, receiver: Int, path: String, bad: Bool
  ) async throws -> [String: Double] {
    let ledger = try await openLedger()
    let store = WebhookEndpointStore(ledger, doors: DoorCatalog())
    for number in first..<first + count {
      let publisher = Self.publisher(of: number)
      let port = bad && number % 10 == 1 ? 1 : receiver
      let endpoint = WebhookEndpoint(
        id: "ep\(number)", url: "http://127.0.0.1:\(port)/\(bad && number % 10 == 0 ? "x" : path)/\(number)",
        topics: ["t\(number)"], secrets: [.init(key: Array(repeating: 1, count: 32))], retry: .schedule([.seconds(300)])
      )
      _ = try await store.delete(publisher, endpoint.id)
      _ = try await store.create(publisher, endpoint)
    }
    await ledger.stop()
    return [:]
  }

  /// Connects to the ledger of the run.
  private func openLedger() async throws -> PostgresClient {
    let ledger = PostgresClient(try PostgresEndpoint(url: backend.place.ledger, password: nil, caFile: nil))
    ledger.start()
    for _ in 0..<500 where !ledger.isReady { try await EventLoop.sleep(for: .milliseconds(20)) }
    if let failure = ledger.failure { throw failure }
    return ledger
  }

  /// Writes events as the commits of workers do.
  private func write(_ messages: [AMQPMessage], of endpoints: [Int]) async throws {
    let ledger = try await openLedger()
    let events = zip(messages, endpoints).map { message, endpoint in
      Event(
        id: EventId(message.messageID), publisherId: Self.publisher(of: endpoint), topic: "t\(endpoint)", version: 1,
        time: unixMilliseconds(), body: message.body)
    }
    for start in stride(from: 0, to: events.count, by: 500) {
      let some = Array(events[start..<min(start + 500, events.count)])
      _ = try await ledger.run(Event.tell(some, audience: [Backend.publisher]) + [Event.confirmed(some.map(\.id))])
    }
    await ledger.stop()
  }

  /// Publishes events to some endpoints in turn, as fast as the broker takes them or at a rate.
  ///
  /// The floor of a burst is the same messages in queues that no notifier knows: what is slow beside them is slow
  /// because of the broker and the machine.
  ///
  /// - Parameters:
  ///   - inOneQueue: whether all go into the queue of few events, however many there are.
  ///   - floor: if all go into queues of nobody, whether they wait there for a second first, as deliveries do that come
  ///     back.
  func publish(
    _ count: Int, from first: Int, endpoints: Range<Int>, perSecond: Double, inOneQueue: Bool = false,
    floor: BurstFloor? = nil
  ) async throws -> [String: Double] {
    try await backend.open()
    let floorQueue = try await floor?.declare(at: backend.place.broker)
    let targets = (0..<count).map { endpoints.lowerBound + ($0 * 7) % endpoints.count }
    try await write((0..<count).map { message(first + $0, targets[$0]) }, of: targets)
    let queues = DeliveryQueues(backend.topology)
    let start = Usage()
    var failure: (any Error)?
    var next = 0
    let writers = (0..<500).map { _ in
      Task { @LoopActor in
        do {
          while next < count, failure == nil {
            let number = next
            next += 1
            _ = try await start.due(number, perSecond: perSecond)
            var message = message(first + number, targets[number])
            if let floorQueue {
              message.routingKey = floorQueue
            } else if !inOneQueue {
              message.routingKey = queues.next(of: Self.publisher(of: targets[number]))
            }
            try await backend.publisher.publish(message, timeout: .seconds(60))
          }
        } catch { failure = error }
      }
    }
    for writer in writers { await writer.value }
    if let failure { throw failure }
    let result = start.until(Usage(), jobs: count)
    await backend.close()
    return result
  }

  private func message(_ number: Int, _ endpoint: Int) -> AMQPMessage {
    let publisher = Self.publisher(of: endpoint)
    let body = """
      {"broadcasterId":\(publisher),"topic":"t\(endpoint)","data":{"synchronizationId":"bench-\(number)",\
      "transactionId":"1000000000000001","cleengCustomerId":987654321,"customerId":"987654321","accessGranted":true,\
      "result":"PURCHASE_SYNCHRONIZED","offerId":"S123123123_US","originalTransactionId":"1000000000000001",\
      "at":\(unixMicroseconds())}}
      """
    let id = "evt_\(number)"
    let attributes = CloudEventsAttributes.headers(
      id: EventId(id), publisher: publisher, topic: "t\(endpoint)", at: unixMilliseconds())
    return AMQPMessage(
      exchange: "", routingKey: backend.topology.deliveries, messageID: id,
      headers: attributes.merging([EventHeader.version: 1]) { $1 }.mapValues(AMQPValue.init), body: Array(body.utf8))
  }

  /// The broker's floor: takes events off the notifier's queue.
  func consume(_ count: Int) async throws -> [String: Double] {
    let done = LoopSignal()
    var finished = 0
    var start: Usage?
    let consumer = AMQPConsumer(
      { [backend] in backend.place.broker }, name: "benchmark deliveries",
      queue: backend.topology.deliveries, prefetch: 1000, onChange: { _ in }, declare: { _ in },
      handler: { received in
        if start == nil { start = Usage() }
        received.acknowledge()
        finished += 1
        if finished == count { done.notify() }
      })
    consumer.start()
    await done.wait(atMost: .seconds(120))
    guard let start, finished >= count else { throw Unexpected(description: "\(finished) of \(count) events came") }
    let result = start.until(Usage(), jobs: count)
    await consumer.stop()
    return result
  }

  /// The floor of HTTP: posts bodies of the same size with libcurl, over kept-alive connections.
  func post(_ count: Int, receiver: Int, concurrency: Int) async throws -> [String: Double] {
    var configuration = HTTPClientConfiguration()
    configuration.allowsPlainHTTP = true
    configuration.awaitsMultiplexing = false
    configuration.maxConnectionsPerHost = concurrency
    let client = HTTPClient(configuration)
    let start = Usage()
    var next = 0
    var failure: (any Error)?
    let clients = (0..<concurrency).map { _ in
      Task { @LoopActor in
        do {
          while next < count, failure == nil {
            let number = next
            next += 1
            let message = message(number, 0)
            let request = HTTPClientRequest(
              "POST", "http://127.0.0.1:\(receiver)/h/\(number % 100)",
              headers: [
                ("Content-Type", "application/json"), ("webhook-id", message.messageID),
                ("webhook-timestamp", "1700000000"),
                ("webhook-signature", "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
              ], body: message.body)
            guard try await client.send(request).status == 200 else {
              throw Unexpected(description: "the receiver refused a webhook")
            }
          }
        } catch { failure = error }
      }
    }
    for client in clients { await client.value }
    client.close()
    if let failure { throw failure }
    return start.until(Usage(), jobs: count)
  }
}
