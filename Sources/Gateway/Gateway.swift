import AMQP
import Configuration
import Domain
public import EventLoop
import HTTPServer
import JSON
import Ledger
import Messaging
import Observability
import Redis
public import Service
import Store

/// The role that accepts registrations over HTTP and answers requests for their status.
@LoopActor
public final class Gateway: Role {
  private let context: RoleContext
  private let store: PurchaseStore
  private let endpoints: WebhookEndpointStore
  private let deliveries: DeliveryStore
  private let publisher: AMQPPublisher
  private let topology: Topology
  private let healthEndpoints: HealthEndpoints
  private let metrics: GatewayMetrics
  private let redis: RedisClient
  private var server: HTTPServer?

  /// Creates a gateway without starting it.
  public init(_ context: RoleContext) {
    self.context = context
    let redis = context.makeRedis()
    let store = PurchaseStore(redis, prefix: context.settings.redis.prefix)
    let topology = Topology(context.settings)
    let publisher = AMQPPublisher(
      AMQPEndpoint(context.settings.rabbitmq), name: "countersign gateway", onChange: context.observer(of: "publish"),
      declare: { try await topology.declare(on: $0) })
    self.redis = redis
    self.store = store
    endpoints = WebhookEndpointStore(redis, prefix: context.settings.redis.prefix)
    deliveries = DeliveryStore(redis, prefix: context.settings.redis.prefix)
    self.topology = topology
    self.publisher = publisher
    healthEndpoints = HealthEndpoints(
      metrics: context.metrics,
      checks: [.redis(redis), ReadinessCheck("rabbitmq") { publisher.isReady }])
    metrics = GatewayMetrics(context.metrics)
  }

  public func start() async throws {
    redis.start()
    publisher.start()
    let settings = context.settings.gateway
    var configuration = HTTPServer.Configuration()
    configuration.host = settings.listen.host
    configuration.port = settings.listen.port
    configuration.maxBodyBytes = settings.maxBodyBytes
    configuration.maxHeaderBytes = settings.maxHeaderBytes
    configuration.maxConnections = settings.maxConnections
    configuration.idleTimeout = settings.idleTimeout
    let server = try HTTPServer(
      configuration, tooLarge: { Problem.tooLarge(settings.maxBodyBytes).response },
      handler: { [weak self] in await self?.answer($0) ?? Problem.unavailable("The gateway is stopping.").response })
    self.server = server
    context.log.info("listening", ["address": .string("\(settings.listen.host):\(server.port)")])
  }

  public func stop(grace: Duration) async {
    await server?.close(grace: grace)
    await publisher.stop()
    await redis.stop()
  }

  // MARK: One request

  private func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    let start = ContinuousClock.now
    var label = Route.unknownLabel
    let response: HTTPServerResponse
    do {
      let (route, values) = try Route.find(request.method, request.path)
      label = route.label
      response = try await answer(route, values, request)
    } catch {
      response = error.response
    }
    metrics.requests.count(label, String(response.status))
    metrics.latency.observe((ContinuousClock.now - start).inSeconds, label)
    return response
  }

  private func answer(
    _ route: Route, _ values: [Route.Parameter: String], _ request: HTTPServerRequest
  ) async throws(Problem) -> HTTPServerResponse {
    let handler: Route.Handler
    let admitsCustomers: Bool
    switch route.access {
    case .anyone(let answer): return answer(self, request)
    case .publisherOrCustomer(let answer): (handler, admitsCustomers) = (answer, true)
    case .publisher(let answer): (handler, admitsCustomers) = (answer, false)
    }
    let caller = try Authenticator(publishers: context.publishers, now: context.now() / 1000).caller(of: request)
    guard admitsCustomers || caller.customerId == nil else {
      throw .forbidden("This is done with the publisher's token, X-Publisher-Token, and not with a customer's.")
    }
    return try await handler(self, Call(request: request, caller: caller, values: values))
  }

  // MARK: The routes' handlers

  func health(_ request: HTTPServerRequest) -> HTTPServerResponse {
    healthEndpoints.answer(request) ?? Problem.unknownPath(request.path).response
  }

  func webhooks(for caller: Caller) -> WebhookAPI {
    WebhookAPI(
      context: context, store: endpoints, deliveries: deliveries, queue: publisher, topology: topology,
      publisher: caller.publisher)
  }

  func register(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let trace = call.request.header("traceparent").flatMap { TraceParent($0)?.child() } ?? TraceParent()
    let registration = Registration(context: context, store: store, publisher: publisher, topology: topology)
    let answer: Registration.Answer
    do {
      answer = await registration.register(try RegistrationRequest(call.request), by: call.caller, trace: trace)
    } catch {
      metrics.registrations.count(error.code)
      throw error
    }
    switch answer {
    case .accepted(let id):
      metrics.registrations.count(GatewayMetrics.accepted)
      return HTTPServerResponse(
        status: 202,
        headers: [
          ("Content-Type", "application/json"), ("Cache-Control", "no-store"), ("Location", statusPath(id)),
        ], body: JSONWriter.object { $0.member("synchronizationId", id) })
    case .problem(let problem):
      metrics.registrations.count(problem.code)
      throw problem
    }
  }

  func status(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let (id, caller) = (call[.synchronizationId], call.caller)
    guard Job.isSynchronizationId(id) else {
      throw .invalidPath("synchronizationId: expected 1 to 256 visible ASCII characters")
    }
    let found = try await context.asking { try await self.store.synchronization(caller.publisher.id, id) }
    guard let found, caller.mayActFor(found.customerId) else {
      throw .notFound(
        "This credential sees no synchronization with this id. A finalized one is kept for a time "
          + "(worker.statusRetentionSeconds), and a customer's token sees its own customer's only.")
    }
    return StatusAnswer(found).response
  }

  func putCustomer(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let customer = try requestedCustomer(call[.cleengCustomerId], call.request)
    let publisher = call.caller.publisher.id
    let isNew = try await context.asking { try await self.store.putCustomer(publisher, customer) }
    return jsonResponse(isNew ? 201 : 200, CustomerBody(customer))
  }

  func readCustomer(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let (id, publisher) = (try customerId(call[.cleengCustomerId]), call.caller.publisher.id)
    guard let customer = try await context.asking({ try await self.store.customer(publisher, id) }) else {
      throw .notFound(Self.unknownCustomer)
    }
    return jsonResponse(200, CustomerBody(customer))
  }

  func deleteCustomer(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let (id, publisher) = (try customerId(call[.cleengCustomerId]), call.caller.publisher.id)
    guard try await context.asking({ try await self.store.deleteCustomer(publisher, id) }) else {
      throw .notFound(Self.unknownCustomer)
    }
    return HTTPServerResponse(status: 204)
  }

  private static let unknownCustomer = "The publisher has no such customer; PUT on the same path creates one."
}
