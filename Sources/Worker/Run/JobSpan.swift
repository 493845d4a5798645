import AppStore
import Domain
import EventLoop
import Observability

/// The span of one run of a job, and what happens within it. The first attempt is a part of the registration's trace.
@LoopActor
final class JobSpan {
  private let tracer: Tracer
  private let trace: TraceParent
  private let parentId: String?
  private let link: TraceParent?
  private let start = ContinuousClock.now
  private let name: String
  private var attributes: [Span.Attribute]
  private var failure: String?

  /// Begins a span; `nil` if the job's trace is not recorded.
  init?(of job: Job, attempt: Int, _ tracer: Tracer?) {
    guard let tracer, tracer.isOn, let caller = job.traceparent.flatMap({ TraceParent($0) }), tracer.records(caller)
    else {
      return nil
    }
    self.tracer = tracer
    (trace, parentId, link) = tracer.attempt(attempt, of: caller)
    name = "job \(job.kind.rawValue)"
    attributes = [
      Span.Attribute("countersign.synchronization_id", job.synchronizationId.text),
      Span.Attribute("countersign.transaction_id", job.transactionId.text),
      Span.Attribute("countersign.publisher_id", job.publisherId.number),
      Span.Attribute("countersign.attempt", Int64(attempt)),
    ]
  }

  /// A call to Apple that has ended.
  func called(_ endpoint: AppStoreEndpoint, _ result: String, since start: ContinuousClock.Instant) {
    tracer.record(
      "App Store \(endpoint.rawValue)", .client, within: trace, since: start,
      [Span.Attribute("countersign.apple_result", result)], failure: result == "ok" ? nil : result)
  }

  /// A commit that has ended.
  func committed(since start: ContinuousClock.Instant, failure: String? = nil) {
    tracer.record("commit", .client, within: trace, since: start, failure: failure)
  }

  /// What the run came to.
  func note(result: String) { attributes.append(Span.Attribute("countersign.result", result)) }

  /// Why the job runs again.
  func note(retry cause: String) { failure = cause }

  /// Ends the span.
  func end() {
    tracer.record(
      name, .consumer, trace, parentId: parentId, link: link, since: start, attributes, failure: failure)
  }
}
