import AMQP
import Configuration
import Coordination
import Crypto
import Domain
import EventLoop
import HTTPServer
import JSON
import Ledger
import Messaging
import Observability
import Service

/// Answers a publisher's requests about its webhook endpoints.
@LoopActor
struct WebhookAPI {
  let context: RoleContext
  let store: WebhookEndpointStore
  let deliveries: DeliveryLedger
  let pacing: EndpointPacing
  let metrics: GatewayMetrics
  /// Puts deliveries into the notifiers' queue.
  let queue: AMQPPublisher
  let topology: Topology
  let publisher: Publisher

  func create(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let new = try EndpointRequest.endpoint(
      try jsonBody(call.request), id: try newId(), address, context.doors,
      newKey: { format throws(Problem) in try newKey(format) })
    guard case .created(let endpoint) = try await context.asking({ try await store.create(publisher.id, new) }) else {
      throw tooMany()
    }
    context.log.info("endpoint created", fields(endpoint.id))
    var answer = EndpointAnswer(endpoint, EndpointHealth(), now: context.now())
    show(endpoint, in: &answer)
    var response = jsonResponse(201, answer)
    response.headers.append(("Location", "/3.1/webhook_endpoints/\(endpoint.id)"))
    return response
  }

  func list(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let page = try PageRequest(call.request)
    let start = try page.start(EndpointCursor.init(_:))
    let all = configured + (try await context.asking { try await store.endpoints(publisher.id)?.endpoints ?? [] })
    let ordered = all.map { ($0, EndpointCursor(createdAt: $0.createdAt, id: $0.id)) }.sorted { $0.1 < $1.1 }
    let rest = ordered.drop { entry in start.map { entry.1 <= $0 } ?? false }
    let found = rest.prefix(page.limit)
    let shown = try await answers(found.map(\.0))
    let text = PageText(zip(found, shown)) { jsonText($0.1) }
    let next = text.end?.0.1 ?? (rest.count > found.count ? found.last?.1 : nil)
    return jsonResponse(
      200,
      written: JSONWriter.object { list in
        list.member("endpoints", array: text.elements)
        list.member("nextCursor", next?.text)
      })
  }

  func read(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    jsonResponse(200, try await answers([try await endpoint(EndpointId(call[.endpointId]))])[0])
  }

  func update(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = EndpointId(call[.endpointId])
    try requireOwn(id)
    let changes = try EndpointRequest(changes: try jsonBody(call.request), address, context.doors)
    let endpoint = try await changed(id) { endpoint, _ in try changes.apply(to: &endpoint) }
    context.log.info("endpoint changed", fields(id))
    return jsonResponse(200, try await answers([endpoint])[0])
  }

  func delete(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = EndpointId(call[.endpointId])
    try requireOwn(id)
    guard try await context.asking({ try await store.delete(publisher.id, id) }) else { throw Self.unknownEndpoint }
    context.log.info("endpoint deleted", fields(id))
    await forget([id])
    return HTTPServerResponse(status: 204)
  }

  /// The endpoints in the publisher's file.
  private var configured: [WebhookEndpoint] { publisher.webhooks.map { WebhookEndpoint($0) } }

  /// Finds an endpoint, in the file or of the API.
  func endpoint(_ id: EndpointId) async throws(Problem) -> WebhookEndpoint {
    if let found = configured.first(where: { $0.id == id }) { return found }
    guard EndpointId.isValid(id.text),
      let found = try await context.asking({ try await store.endpoint(publisher.id, id) })
    else { throw Self.unknownEndpoint }
    return found
  }

  /// Drops the limits of deleted endpoints. If Redis is away, they stay and expire by themselves.
  func forget(_ ids: [EndpointId]) async {
    for id in ids {
      do {
        try await pacing.forget(publisher: publisher.id, endpoint: id)
      } catch {
        context.log.warning("limits of a deleted endpoint could not be deleted", fields(id))
      }
    }
  }

  func changed(
    _ id: EndpointId, _ body: @LoopActor (inout WebhookEndpoint, Int64) throws -> Void
  ) async throws(Problem) -> WebhookEndpoint {
    let endpoint = try await context.asking { try await store.change(publisher.id, id, body) }
    guard let endpoint else { throw Self.unknownEndpoint }
    return endpoint
  }

  static let unknownEndpoint = Problem.notFound(
    "The publisher has no endpoint with this id; GET /3.1/webhook_endpoints lists those it has.")

  /// Refuses a change to an endpoint in the publisher's file. Only the owner of that file may make it.
  func requireOwn(_ id: EndpointId) throws(Problem) {
    if configured.contains(where: { $0.id == id }) {
      throw .conflict("The endpoint is in the publisher's file; it is changed there.")
    }
  }

  func answers(_ endpoints: [WebhookEndpoint]) async throws(Problem) -> [EndpointAnswer] {
    let (health, now) = (try await health(endpoints.map(\.id)), context.now())
    return zip(endpoints, health).map { EndpointAnswer($0, $1, now: now) }
  }

  func health(_ ids: [EndpointId]) async throws(Problem) -> [EndpointHealth] {
    try await context.asking { try await store.health(publisher.id, ids) }
  }

  /// Puts the secret into an answer. The private half of a key stays out, since no client needs it.
  func show(_ endpoint: WebhookEndpoint, in answer: inout EndpointAnswer) {
    guard endpoint.signature == .v1, let key = endpoint.secrets.first?.key else { return }
    answer.secret = WebhookSecret.text(key, endpoint.format)
  }

  /// Counts a request for whose endpoints the publisher has no room.
  func tooMany() -> Problem {
    metrics.limited(.webhookEndpoints, publisher.id)
    return .tooManyEndpoints(WebhookEndpointStore.limit)
  }

  var address: WebhookAddress { context.settings.notifier.webhookAddress }

  func newId() throws(Problem) -> EndpointId { try drawn { try WebhookEndpoint.newId() } }

  func newKey(_ format: WebhookEndpoint.Format) throws(Problem) -> [UInt8] {
    try drawn { try WebhookSecret.newKey(format) }
  }

  func drawn<Value>(_ draw: () throws -> Value) throws(Problem) -> Value {
    do {
      return try draw()
    } catch {
      context.log.error("no random bytes", ["cause": .failure(error)])
      throw .internalError
    }
  }

  func fields(_ id: EndpointId) -> KeyValuePairs<String, Log.Value> {
    ["publisherId": .int(publisher.id.number), "endpoint": .string(id.text)]
  }
}
