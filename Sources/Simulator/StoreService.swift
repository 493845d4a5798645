import EventLoop
import Formats
import FoundationEssentials
import HTTP2Server
import Observability

/// Answers requests: reads them, lets the rules decide, remembers what later answers need, and waits if told to.
@LoopActor
final class StoreService {
  /// The present fault of every call.
  var weather = Simulator.Weather.fair
  /// The faults of single apps, by bundle id.
  var appWeather: [ExactText: Simulator.Weather] = [:]
  /// The faults of single transactions.
  var localWeather: [String: [Simulator.Weather]] = [:]
  /// Receives every call when the service decides it.
  var onCall: @LoopActor (Simulator.Call) -> Void = { _ in }

  let renderer: StoreRenderer
  private let latency: Duration
  let now: @LoopActor () -> Int64
  private var gate: TokenGate
  private var log = CallLog()
  let metrics: Metrics
  private let counter: Counter
  /// The number of calls for a transaction, where it makes a difference.
  private var calls = RecentlyUsed<SignedAnswers.Purchase, Int>(capacity: 10_000)
  private var signed = SignedAnswers()
  let apps: [Simulator.App]
  let lives: Lives
  let poster: NotificationPoster
  let usualNotifications: NotificationSettings

  /// Creates a service; `now` returns UNIX milliseconds.
  init(_ configuration: Simulator.Configuration, pki: SimulatorPKI, now: @escaping @LoopActor () -> Int64) {
    renderer = StoreRenderer(pki)
    latency = configuration.latency
    apps = configuration.apps
    self.now = now
    let scale = LifeScale(monthMilliseconds: Int64(configuration.lifeMonth.wholeMilliseconds))
    lives = Lives(scale: scale, now: now)
    let notifications = configuration.notifications
    usualNotifications = NotificationSettings(
      urls: notifications.urls, version: notifications.version, password: notifications.password)
    poster = NotificationPoster(
      usualNotifications, scale: scale, signer: pki.genuine, caFile: notifications.caFile, now: now)
    gate = TokenGate(apps: configuration.apps, keys: pki.tokenKeys)
    metrics = Metrics()
    counter = metrics.counter(
      "countersign_simulator_calls_total", "Calls by answer.",
      labels: ["environment", "endpoint", "status"],
      known: StoreEnvironment.allCases.flatMap { environment in
        StoreEndpoint.allCases.map { [environment.rawValue, $0.rawValue, "200"] }
      })
    let posts = metrics.counter(
      "countersign_simulator_posts_total", "Attempts to post a notification, by result.", labels: ["result"],
      known: SendResult.allCases.map { [$0.rawValue] })
    poster.onAttempt = { posts.count($0.rawValue) }
    metrics.gauge(
      "countersign_simulator_posts_waiting", "Attempts to post that wait for their time or are under way."
    ) { [poster] in
      Double(poster.waiting)
    }
    metrics.gauge("countersign_simulator_lives", "Simulated purchases that live.") { [lives] in Double(lives.count) }
    lives.onChange = { [weak self] in self?.tell($0) }
  }

  func answer(_ request: HTTP2Request) async -> HTTP2Response {
    do {
      switch StoreRoute(path: request.path) {
      case .liveness: return await only("GET", request) { HTTP2Response(status: 200) }
      case .metrics:
        return await only("GET", request) {
          HTTP2Response(
            status: 200, headers: [("content-type", "text/plain; version=0.0.4")], body: Array(metrics.text().utf8))
        }
      case .calls: return try await only("GET", request) { StoreRenderer.json(try renderer.encode(log.report)) }
      case .signedAhead(let ahead):
        return try await only("PUT", request) {
          try await sign(ahead)
          return HTTP2Response(status: 204)
        }
      case .mint(let mint):
        guard let app = apps.first else { return HTTP2Response(status: 404) }
        return try await only("GET", request) { try self.mint(mint, of: app, now: now()) }
      case .time: return time(request)
      case .forge(let mint):
        guard let app = apps.first else { return HTTP2Response(status: 404) }
        return try await only("GET", request) { try self.mint(mint, of: app, now: now()) }
      case .lives(let call): return await control(call, request)
      case .notifications(let call): return control(call, request)
      case .store(let call):
        let (response, delay) = try answer(call, request)
        // A cancelled wait means that the client has taken the call back: nobody reads the answer then.
        if delay > .zero { try? await EventLoop.sleep(for: delay) }
        return response
      case .unknown: return HTTP2Response(status: 404)
      }
    } catch {
      return HTTP2Response(status: 500, headers: [("content-type", "text/plain")], body: Array("\(error)".utf8))
    }
  }

  /// Stops everything that happens by itself.
  func close() {
    lives.close()
    poster.close()
  }

  private func only(
    _ method: String, _ request: HTTP2Request, _ respond: () async throws -> HTTP2Response
  ) async rethrows -> HTTP2Response {
    guard request.method == method else { return HTTP2Response(status: 405, headers: [("allow", method)]) }
    return try await respond()
  }

  private func answer(_ call: StoreCall, _ request: HTTP2Request) throws -> (HTTP2Response, Duration) {
    let time = now()
    func logged(_ response: HTTP2Response, _ refusal: BearerToken.Refusal? = nil) -> HTTP2Response {
      let status = response.fault == nil ? response.status : 0
      counter.count(call.environment.rawValue, call.endpoint.rawValue, String(status))
      log.record(
        CallLog.Call(
          time: time, environment: call.environment.rawValue, endpoint: call.endpoint.rawValue,
          transactionId: call.transactionId, status: status,
          refusal: refusal?.rawValue))
      onCall(
        Simulator.Call(
          time: time, environment: call.environment.rawValue, endpoint: call.endpoint.rawValue,
          transactionId: call.transactionId, connection: request.connection, status: status,
          // The client never sees the header of an answer that is cut off.
          retryAt: status == 0
            ? nil : response.headers.first { $0.name == "retry-after" }.flatMap { Int64($0.value) }))
      return response
    }

    guard request.method == call.endpoint.method else {
      return (logged(HTTP2Response(status: 405, headers: [("allow", call.endpoint.method)])), latency)
    }
    let app: Simulator.App
    do throws(BearerToken.Refusal) {
      app = try gate.app(authorization: request.header("authorization"), now: time / 1000)
    } catch {
      return (logged(StoreRenderer.unauthorized, error), latency)
    }
    if let failure = call.failure ?? failure(of: request) {
      return (logged(try renderer.response(.failure(failure), now: time) ?? HTTP2Response(status: 500)), latency)
    }

    let question = question(call, app: app, time: time)
    var decision =
      decision(about: call, request, of: app, now: time) ?? decision(about: question, call) ?? StoreDecision(question)
    for weather in [weather, appWeather[app.bundleId] ?? .fair] + (localWeather[call.transactionId] ?? []) {
      decision.suffer(weather, call.endpoint, now: time)
    }
    var response = try response(to: question, decision)
    if decision.isCutOff { response.fault = .resetConnection(afterBodyBytes: response.body.count / 2) }
    return (logged(response), latency + decision.delay)
  }

  /// The mistake in the request itself, if any. Apple expects a client to name itself, to send no body with GET, and to
  /// say that a body is JSON.
  private func failure(of request: HTTP2Request) -> StoreFailure? {
    let isNamed = request.header("user-agent") != nil || request.header("accept") != nil
    let isJSON = request.header("content-type")?.hasPrefix("application/json") == true
    return isNamed && (request.body.isEmpty || request.method != "GET" && isJSON) ? nil : .badRequest
  }

  func question(_ call: StoreCall, app: Simulator.App, time: Int64) -> StoreQuestion {
    var question = StoreQuestion(
      endpoint: call.endpoint, transactionId: call.transactionId, environment: call.environment, app: app,
      statuses: call.statuses, now: time)
    if question.scenario.counts {
      let key = SignedAnswers.Purchase(question)
      question.earlierCalls = calls[key] ?? 0
      calls.set(question.earlierCalls + 1, for: key)
    }
    return question
  }

  private func response(to question: StoreQuestion, _ decision: StoreDecision) throws -> HTTP2Response {
    guard case .purchase(let purchase, let seal) = decision.answer else {
      return try renderer.response(decision.answer, now: question.now) ?? HTTP2Response(status: 500)
    }
    guard decision.isUsual else { return StoreRenderer.json(try renderer.body(purchase, seal, question)) }
    let key = SignedAnswers.Key(
      purchase: SignedAnswers.Purchase(question), endpoint: question.endpoint, statuses: question.statuses, seal: seal)
    if let body = signed.body(key, now: question.now) { return StoreRenderer.json(body) }
    let body = try renderer.body(purchase, seal, question)
    signed.keep(body, for: key, now: question.now)
    return StoreRenderer.json(body)
  }

  /// Signs the answers for many transactions ahead, so that a load test does not measure the signing.
  private func sign(_ ahead: StoreRoute.Ahead) async throws {
    signed.beginAhead()
    for app in apps where app.bundleId == ahead.bundleId {
      for number in ahead.transactionIds {
        let question = StoreQuestion(
          endpoint: ahead.endpoint, transactionId: String(number), environment: ahead.environment, app: app, now: now())
        guard case .purchase(let purchase, let seal) = StoreDecision(question).answer else { continue }
        let key = SignedAnswers.Key(
          purchase: SignedAnswers.Purchase(question), endpoint: ahead.endpoint, seal: seal)
        signed.keepAhead(try renderer.body(purchase, seal, question), for: key)
        // Other callers must not wait meanwhile.
        await Task.yield()
      }
    }
  }
}

extension Scenario {
  /// Whether an answer depends on the number of earlier calls.
  var counts: Bool {
    switch self {
    case .rateLimitedOnce, .failingOnce, .interruptedTwice: true
    default: false
    }
  }
}
