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

/// The role that takes registrations in over HTTP and answers for their status.
@LoopActor
public final class Gateway: Role {
  private let context: RoleContext
  private let store: PurchaseStore
  private let endpoints: WebhookEndpointStore
  private let deliveries: DeliveryStore
  private let publisher: AMQPPublisher
  private let topology: Topology
  private let health: HealthEndpoints
  private let metrics: GatewayMetrics
  private let redis: RedisClient
  private var server: HTTPServer?

  /// Creates a gateway that is not started.
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
    health = HealthEndpoints(
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
    var name = Route.unknownName
    let response: HTTPServerResponse
    do {
      let route = try Route(request.method, request.path)
      name = route.name
      response = try await answer(route, request)
    } catch {
      response = error.response
    }
    metrics.requests.count(name, String(response.status))
    metrics.latency.observe((ContinuousClock.now - start).inSeconds, name)
    return response
  }

  private func answer(_ route: Route, _ request: HTTPServerRequest) async throws(Problem) -> HTTPServerResponse {
    if case .health = route, let response = health.answer(request) { return response }
    let caller = try Authenticator(publishers: context.publishers, now: context.now() / 1000).caller(of: request)
    switch route {
    case .register: return try await register(request, caller)
    case .status(let id): return try await status(id, caller)
    case .customer(let id, let method): return try await customer(id, method, request, caller)
    case .health: throw .notFound
    case .webhooks(let route):
      let api = try WebhookAPI(
        context: context, store: endpoints, deliveries: deliveries, queue: publisher, topology: topology, caller: caller
      )
      return try await api.answer(route, request)
    }
  }

  private func register(_ request: HTTPServerRequest, _ caller: Caller) async throws(Problem) -> HTTPServerResponse {
    let trace = request.header("traceparent").flatMap { TraceParent($0)?.child() } ?? TraceParent()
    let registration = Registration(context: context, store: store, publisher: publisher, topology: topology)
    let answer: Registration.Answer
    do {
      answer = await registration.register(try RegistrationRequest(request), by: caller, trace: trace)
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

  private func status(_ id: String, _ caller: Caller) async throws(Problem) -> HTTPServerResponse {
    guard Job.isSynchronizationId(id) else {
      throw .invalidPath("synchronizationId: expected 1 to 256 visible ASCII characters")
    }
    let found = try await context.asking { try await self.store.synchronization(caller.publisher.id, id) }
    guard let found, caller.mayActFor(found.customerId) else { throw .notFound }
    return StatusAnswer(found).response
  }

  private func customer(
    _ id: String, _ method: Route.Method, _ request: HTTPServerRequest, _ caller: Caller
  ) async throws(Problem) -> HTTPServerResponse {
    guard caller.customerId == nil else { throw .forbidden("Customers are managed with the publisher's token.") }
    let publisher = caller.publisher.id
    switch method {
    case .put:
      let customer = try requestedCustomer(id, request)
      let isNew = try await context.asking { try await self.store.putCustomer(publisher, customer) }
      return jsonResponse(isNew ? 201 : 200, CustomerBody(customer))
    case .get:
      let id = try customerId(id)
      guard let customer = try await context.asking({ try await self.store.customer(publisher, id) }) else {
        throw .notFound
      }
      return jsonResponse(200, CustomerBody(customer))
    case .delete:
      let id = try customerId(id)
      guard try await context.asking({ try await self.store.deleteCustomer(publisher, id) }) else { throw .notFound }
      return HTTPServerResponse(status: 204)
    case .post, .patch: throw .notFound
    }
  }
}

extension Route {
  /// The label of requests for anything else.
  static let unknownName = "unknown"

  /// Every label of the metrics of routes.
  static var names: [String] {
    // What a path holds does not change its label; no path holds more than two values.
    let routes = Resource.all.flatMap { resource in resource.routes.values.map { $0(["", ""]) } }
    return Set(routes.map(\.name) + [Route.health.name, unknownName]).sorted()
  }

  /// The label of the route's metrics.
  fileprivate var name: String {
    switch self {
    case .register: "register"
    case .status: "status"
    case .customer: "customer"
    case .webhooks(let route): route.name
    case .health: "health"
    }
  }
}
