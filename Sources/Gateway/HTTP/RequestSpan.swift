import EventLoop
import HTTPServer
import Observability

/// The span of one request.
@LoopActor
struct RequestSpan {
  /// The request, with this span in the header `traceparent`: what follows from the request is a part of it.
  let request: HTTPServerRequest

  private let tracer: Tracer
  private let trace: TraceParent
  private let parentId: String?

  /// Begins a span; `nil` if nothing is recorded.
  init?(of request: HTTPServerRequest, _ tracer: Tracer) {
    guard tracer.isOn else { return nil }
    self.tracer = tracer
    (trace, parentId) = tracer.begin(request.header("traceparent"))
    self.request = request.replacing("traceparent", with: trace.description)
  }

  /// Ends the span.
  ///
  /// - Parameter route: the label of the route's metrics.
  func end(_ route: String, _ status: Int, since start: ContinuousClock.Instant) {
    guard tracer.records(trace) else { return }
    tracer.record(
      route, .server, trace, parentId: parentId, since: start,
      [
        Span.Attribute("http.request.method", request.method), Span.Attribute("http.route", route),
        Span.Attribute("http.response.status_code", Int64(status)),
      ], failure: status >= 500 ? "\(status)" : nil)
  }
}
