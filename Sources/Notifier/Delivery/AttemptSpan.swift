import Domain
import EventLoop
import Observability

/// The span of one attempt. The receiver gets it in the header `traceparent`.
///
/// The first attempt is a part of the event's trace.
@LoopActor
struct AttemptSpan {
  /// The trace, with the attempt's own id.
  let trace: TraceParent

  private let tracer: Tracer
  private let parentId: String?
  private let link: TraceParent?
  private let attributes: [Span.Attribute]

  /// Begins a span; `nil` if the event belongs to no trace.
  init?(of delivery: Delivery, _ endpoint: EndpointId, _ tracer: Tracer) {
    guard let caller = delivery.traceparent.flatMap({ TraceParent($0) }) else { return nil }
    self.tracer = tracer
    (trace, parentId, link) = tracer.attempt(delivery.attempt, of: caller)
    attributes = [
      Span.Attribute("countersign.event_id", delivery.eventId.text),
      Span.Attribute("countersign.endpoint_id", endpoint.text),
      Span.Attribute("countersign.publisher_id", delivery.publisherId.number),
      Span.Attribute("countersign.attempt", Int64(delivery.attempt)),
    ]
  }

  /// Ends the span.
  func end(_ status: Int?, _ error: String, since start: ContinuousClock.Instant) {
    guard tracer.records(trace) else { return }
    let answer = status.map { [Span.Attribute("http.response.status_code", Int64($0))] } ?? []
    let failure: String? = if let status { (200..<300).contains(status) ? nil : "\(status)" } else { error }
    tracer.record(
      "webhook attempt", .client, trace, parentId: parentId, link: link, since: start, attributes + answer,
      failure: failure)
  }
}
