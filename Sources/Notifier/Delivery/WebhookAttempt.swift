import Configuration
import Domain
import EventLoop
import Formats
import HTTP
import HTTPClient
import Ledger
import Observability
import Service

/// The request of one attempt, and its result.
@LoopActor
final class WebhookAttempt {
  /// The end of an attempt, before the notifier judges it.
  struct Ending {
    var status: Int?
    var retryAfter: Duration?
    var error = ""
    /// Whether the attempt's time ran out without an answer.
    var ranOutOfTime = false
    var answer: [UInt8] = []
    var duration: Duration = .zero
    /// The seconds from the event to its first attempt, without the time for which the endpoint itself kept it waiting;
    /// `nil` for a later attempt.
    var firstDelay: Double?

    /// Judges the attempt.
    func step(number: Int, jitter: Double, schedule: [Duration]) -> DeliveryStep {
      guard let status else {
        return DeliveryStep(failedWith: error, attempt: number, schedule: schedule, jitter: jitter)
      }
      return DeliveryStep(
        status: status, retryAfter: retryAfter, attempt: number, schedule: schedule, jitter: jitter)
    }

    /// Makes the attempt's record for the log of attempts.
    func record(
      _ delivery: Delivery, _ endpoint: WebhookEndpoint, _ step: DeliveryStep, _ nextAt: Int64?,
      at now: Int64
    ) -> DeliveryAttempt {
      // Most answers are empty, and the filter reads all secrets.
      let filter = answer.isEmpty && step.error == nil ? nil : SecretFilter(endpoint)
      // One byte more shows whether the answer goes on.
      let shown = filter?.clean(answer, limit: DeliveryAttempt.keptAnswerBytes + 1) ?? []
      return DeliveryAttempt(
        eventId: delivery.eventId, endpointId: endpoint.id, topic: delivery.topic, version: delivery.version,
        number: delivery.attempt, time: now, status: status, durationMilliseconds: Int64(duration.wholeMilliseconds),
        error: step.error.flatMap { filter?.clean($0) }, answer: DeliveryAttempt.keptAnswer(shown), result: step.result,
        nextAt: nextAt)
    }
  }

  /// The notifier cuts off longer answers. Only the status counts.
  private static let maxAnswerBytes = 64 << 10

  /// A receiver uses this header to drop an event that is older than its own state.
  private static let versionHeader = "countersign-version"

  /// Apple's `notificationUUID`, so that a receiver of forwards need not decode the body to log it.
  private static let notificationHeader = "countersign-notification-id"

  private let dependencies: DeliveryRun.Dependencies
  private let delivery: Delivery
  private let endpoint: WebhookEndpoint
  private let content: EndpointRun.Content
  /// The milliseconds for which the endpoint itself kept this attempt waiting.
  private let waited: Int64
  /// The span of the attempt; `nil` if the event belongs to no trace.
  private let span: AttemptSpan?

  /// - Parameter waited: how long the notifier just held the delivery until the endpoint's turn.
  init(
    _ dependencies: DeliveryRun.Dependencies, _ delivery: Delivery, _ endpoint: WebhookEndpoint,
    _ content: EndpointRun.Content,
    waited: Duration
  ) {
    self.content = content
    self.dependencies = dependencies
    self.delivery = delivery
    self.endpoint = endpoint
    span = AttemptSpan(of: delivery, endpoint.id, dependencies.context.tracer)
    self.waited = delivery.waited + Int64(waited.wholeMilliseconds)
  }

  /// Sends the event.
  func send() async -> Ending {
    let now = dependencies.context.now()
    var ending = Ending()
    if delivery.attempt == 1, delivery.round.isFirst, let time = delivery.time,
      let published = milliseconds(rfc3339: time)
    {
      let delay = Double(max(0, now - published - waited)) / 1000
      ending.firstDelay = delay
      dependencies.metrics.firstAttemptDelay.observe(delay)
      if waited > 0 { dependencies.metrics.endpointWait.observe(Double(waited) / 1000) }
    }
    let start = ContinuousClock.now
    do {
      let answer = try await dependencies.client.send(request(now))
      ending.status = answer.status
      ending.retryAfter = answer.header("retry-after").flatMap {
        EndpointRetryAfter.wait($0, now: dependencies.context.now())
      }
      ending.answer = answer.body
    } catch let error as HTTPClientError {
      ending.error = error.description
      ending.ranOutOfTime = error.code == .timeout
    } catch {
      ending.error = "\(error)"
    }
    ending.duration = ContinuousClock.now - start
    dependencies.metrics.duration.observe(ending.duration.inSeconds)
    span?.end(ending.status, ending.error, since: start)
    return ending
  }

  private func request(_ now: Int64) throws -> HTTPClientRequest {
    if case .posted(let body) = content, let notification = delivery.notification {
      return request(
        body,
        [
          (name: "Content-Type", value: "application/json"),
          (name: Self.notificationHeader, value: notification.uuid.text),
        ])
    }
    let keys = endpoint.secrets(at: now)
    let payload = WebhookPayload(delivery, endpoint, keys: keys)
    let timestamp = now / 1000
    var headers = [
      (name: "Content-Type", value: "application/json"),
      (name: "webhook-id", value: delivery.eventId.text),
      (name: "webhook-timestamp", value: String(timestamp)),
      (
        name: "webhook-signature",
        value: try WebhookSignature.list(
          endpoint.signature, id: delivery.eventId.text, timestamp: timestamp, body: payload.body, keys: keys)
      ),
    ]
    // Other vendors define the bodies, which have no place for the version.
    if let version = delivery.version { headers.append((name: Self.versionHeader, value: String(version))) }
    headers += payload.headers.map { (name: $0.name, value: $0.value) }
    if let span { headers.append((name: "traceparent", value: span.trace.description)) }
    return request(payload.body, headers)
  }

  private func request(_ body: [UInt8], _ headers: [(name: String, value: String)]) -> HTTPClientRequest {
    var request = HTTPClientRequest(
      "POST", endpoint.url, headers: headers, body: body, timeout: dependencies.context.settings.notifier.timeout,
      maxResponseBytes: Self.maxAnswerBytes)
    request.cutsLongResponse = true
    request.trustsAnyCertificate = endpoint.acceptsSelfSigned
    return request
  }
}
