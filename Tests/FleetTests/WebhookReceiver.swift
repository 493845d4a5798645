import AMQP
import Domain
import EventLoop
import Fleets
import HTTPServer
import Ledger
import Messaging
import Postgres
import TestSupport

/// The server of a publisher's backend. It has an endpoint at every path, and a test decides what each one does.
@LoopActor
final class WebhookReceiver {
  /// A request, as the receiver got it.
  struct Received: Sendable {
    let path: String
    let request: HTTPServerRequest

    var id: String { request.header("webhook-id") ?? "" }
    var timestamp: String { request.header("webhook-timestamp") ?? "" }
    var signature: String { request.header("webhook-signature") ?? "" }
  }

  let requests = Mailbox<Received>(of: "requests of the receiver")
  /// The answer of a path to its nth request, from 1; 200 for a path without an entry.
  var answers: [String: @LoopActor (Int) -> HTTPServerResponse] = [:]
  /// The paths that do not answer until a test removes them.
  var silent: Set<String> = [] {
    didSet { released.notify() }
  }
  private var isClosing = false
  private let released = LoopSignal()
  private var server: HTTPServer!

  private init() throws {
    var configuration = HTTPServer.Configuration.unlimited
    // A batch of 512 spans has a quarter of a megabyte.
    configuration.maxBodyBytes = 1 << 20
    server = try HTTPServer(configuration) { [weak self] in await self?.answer($0) ?? .text(503, "") }
  }

  /// Runs a body with a receiver.
  static func with(_ body: @LoopActor (WebhookReceiver) async throws -> Void) async throws {
    let receiver = try WebhookReceiver()
    do {
      try await body(receiver)
    } catch {
      await receiver.close()
      throw error
    }
    await receiver.close()
  }

  private func close() async {
    isClosing = true
    silent = []
    await server.close()
  }

  /// The URL of a path.
  func url(_ path: String) -> String { "http://127.0.0.1:\(server.port)/\(path)" }

  /// The requests that a path has got.
  func got(_ path: String) -> [Received] { requests.all.filter { $0.path == path } }

  /// Waits until a path has got so many requests, and returns them.
  func wait(_ path: String, for count: Int) async throws -> [Received] {
    try await requests.wait("\(count) at \(path)") { $0.count { $0.path == path } >= count }.filter { $0.path == path }
  }

  /// Waits until a path has got an event, and returns its first request. A notifier that was killed may tell an earlier
  /// event once more, so the numbers of requests say less.
  func first(_ path: String, of event: String) async throws -> Received {
    let all = try await requests.wait("\(event) at \(path)") { $0.contains { $0.path == path && $0.id == event } }
    guard let found = all.first(where: { $0.path == path && $0.id == event }) else {
      throw NeverHappened(description: "\(event) came to \(path)")
    }
    return found
  }

  private func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    let path = request.path.joined(separator: "/")
    requests.put(Received(path: path, request: request))
    let number = got(path).count
    while silent.contains(path), !isClosing { await released.wait(atMost: .seconds(60)) }
    return answers[path]?(number) ?? .text(200, "")
  }
}

extension RunningFleet {
  /// Writes events of the first publisher to the ledger and publishes them, as a worker does.
  func publish(_ ids: [String], topic: EventTopic = "inappPurchaseSyncResult") async throws {
    try await send(try await commit(ids, topic: topic))
  }

  /// Writes events to the ledger.
  ///
  /// - Parameter isConfigured: whether the worker knows the endpoints of the publisher's file.
  /// - Returns: the messages that publish them.
  func commit(
    _ ids: [String], topic: EventTopic = "inappPurchaseSyncResult", of publisher: PublisherId = RunningFleet.publisher,
    isConfigured: Bool = true
  ) async throws -> [AMQPMessage] {
    let events = ids.map { id in
      let body = #"{"broadcasterId":\#(publisher),"data":{"synchronizationId":"\#(id)"},"topic":"\#(topic)"}"#
      return Domain.Event(
        id: EventId(id), publisherId: publisher, topic: topic, version: 1, time: unixMilliseconds(),
        body: Array(body.utf8))
    }
    try await withLedger { ledger in
      _ = try await ledger.run(
        Domain.Event.tell(events, audience: isConfigured ? [publisher] : [])
          + [Domain.Event.confirmed(events.map(\.id))])
    }
    return events.map { EventMessage.message($0, queue: topology.deliveries) }
  }

  /// Runs a body with a client of the fleet's database.
  func withLedger<R>(_ body: @LoopActor (PostgresClient) async throws -> R) async throws -> R {
    let url = TestServers.current!.ledgerURL(database: database)
    var endpoint = try PostgresEndpoint(url: url, password: nil, caFile: nil)
    // A test may hold a lock while it looks at what others do without the table.
    endpoint.idleInTransactionTimeout = .seconds(300)
    let ledger = PostgresClient(endpoint, connections: 1)
    ledger.start()
    do {
      try await eventually("the test reaches the ledger") { ledger.isReady }
      let value = try await body(ledger)
      await ledger.stop()
      return value
    } catch {
      await ledger.stop()
      throw error
    }
  }

  /// Publishes messages over a connection of their own.
  func send(_ messages: [AMQPMessage]) async throws {
    let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "events")
    let channel = try await connection.openChannel()
    try await channel.enableConfirms()
    for message in messages { try await channel.publish(message) }
    await connection.close()
  }
}
