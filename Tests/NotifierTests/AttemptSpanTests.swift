import Domain
import EventLoop
import Observability
import Testing

@testable import Notifier

/// The span of an attempt, and what the receiver gets of it.
@LoopActor
struct AttemptSpanTests {
  private nonisolated static let caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
  private let tracer = Tracer(ratio: 0, Metrics())

  private func delivery(_ traceparent: String?, attempt: Int = 1) throws -> Delivery {
    var delivery = try Delivery(
      eventId: "e", endpointId: nil, headers: traceparent.map { [EventHeader.traceparent: .string($0)] } ?? [:],
      body: Array(#"{"broadcasterId":1,"topic":"t"}"#.utf8))
    delivery.attempt = attempt
    return delivery
  }

  @Test func `an event without a trace has none`() throws {
    #expect(AttemptSpan(of: try delivery(nil), "x", tracer) == nil)
    #expect(AttemptSpan(of: try delivery("00-t"), "x", tracer) == nil)
  }

  @Test func `the first attempt is a part of the event's trace`() throws {
    let span = try #require(AttemptSpan(of: try delivery(Self.caller), "x", tracer))
    span.end(200, "", since: .now)
    let recorded = try #require(tracer.takeBatch().first)
    #expect(recorded.parentId == "b7ad6b7169203331" && recorded.link == nil && recorded.failure == nil)
    #expect(recorded.trace == span.trace && span.trace.traceId == "0af7651916cd43dd8448eb211c80319c")
    #expect(recorded.attributes.contains(Span.Attribute("http.response.status_code", 200)))
  }

  @Test(arguments: [(500 as Int?, "", "500"), (nil, "no answer", "no answer")])
  func `a further attempt begins a trace, with a link`(status: Int?, error: String, failure: String) throws {
    let span = try #require(AttemptSpan(of: try delivery(Self.caller, attempt: 2), "x", tracer))
    span.end(status, error, since: .now)
    let recorded = try #require(tracer.takeBatch().first)
    #expect(recorded.parentId == nil && recorded.link?.description == Self.caller && recorded.failure == failure)
    #expect(recorded.trace.traceId != "0af7651916cd43dd8448eb211c80319c")
  }

  /// Somebody else may record it.
  @Test func `without a collector the receiver still gets the event's trace`() throws {
    let off = Tracer(ratio: nil, Metrics())
    let span = try #require(AttemptSpan(of: try delivery(Self.caller, attempt: 2), "x", off))
    #expect(span.trace.traceId == "0af7651916cd43dd8448eb211c80319c" && span.trace.isSampled)
    span.end(200, "", since: .now)
    #expect(off.takeBatch().isEmpty)
  }
}
