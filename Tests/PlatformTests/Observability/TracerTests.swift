import EventLoop
import Formats
import JSON
import Testing

@testable import Observability

/// What is recorded, what is dropped, and what a collector gets.
@LoopActor
struct TracerTests {
  private let metrics = Metrics()
  private nonisolated static let sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
  private nonisolated static let unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"

  private func counted(_ outcome: Tracer.Fate, _ spans: Int) -> Bool {
    metrics.text().contains("countersign_spans_total{outcome=\"\(outcome.rawValue)\"} \(spans)\n")
  }

  @Test(arguments: [("00", false), ("01", true), ("02", false), ("0a", false), ("0b", true), ("ff", true)])
  func `the last bit of the flags says whether a trace is recorded`(flags: String, isSampled: Bool) throws {
    let trace = try #require(TraceParent(Self.sampled.dropLast(2) + flags))
    #expect(trace.isSampled == isSampled && trace.child().isSampled == isSampled)
  }

  @Test func `a caller decides for its trace, and the ratio for traces that begin here`() throws {
    for (ratio, expected) in [(0.0, false), (1.0, true)] {
      let tracer = Tracer(ratio: ratio, Metrics())
      #expect(tracer.begin(Self.sampled).trace.isSampled)
      #expect(!tracer.begin(Self.unsampled).trace.isSampled)
      for header in [nil, "", "00-x"] {
        let (trace, parentId) = tracer.begin(header)
        #expect(trace.isSampled == expected && parentId == nil)
      }
    }
    let off = Tracer(ratio: nil, metrics)
    #expect(!off.isOn && !off.begin(nil).trace.isSampled)
    // Somebody else may record the trace.
    #expect(off.begin(Self.sampled).trace.isSampled && !off.records(off.begin(Self.sampled).trace))
  }

  @Test func `the span of a request continues the caller's`() throws {
    let (trace, parentId) = Tracer(ratio: 0, metrics).begin(Self.sampled)
    #expect(trace.traceId == "0af7651916cd43dd8448eb211c80319c" && parentId == "b7ad6b7169203331")
    #expect(trace.parentId != parentId)
  }

  @Test func `nothing of a trace that is not recorded is kept`() throws {
    let tracer = Tracer(ratio: 1, metrics)
    let trace = try #require(TraceParent(Self.unsampled))
    tracer.record("a", .server, trace, parentId: nil, since: .now)
    tracer.record("b", .client, within: trace, since: .now)
    tracer.record("c", .client, within: nil, since: .now)
    #expect(tracer.takeBatch().isEmpty)
  }

  @Test func `a batch is told once it is full, and what nobody takes is dropped at the limit`() throws {
    let tracer = Tracer(ratio: 1, metrics)
    let trace = try #require(TraceParent(Self.sampled))
    var told = 0
    tracer.batches.add { told += 1 }
    for _ in 0..<Tracer.most { tracer.record("a", .internally, trace, parentId: nil, since: .now) }
    #expect(told == 1 && tracer.hasBatch && counted(.dropped, 0))
    tracer.record("one too many", .internally, trace, parentId: nil, since: .now)
    #expect(counted(.dropped, 1))
    var taken = 0
    while case let batch = tracer.takeBatch(), !batch.isEmpty {
      #expect(batch.count <= Tracer.batch && batch.allSatisfy { $0.name == "a" })
      taken += batch.count
    }
    #expect(taken == Tracer.most && !tracer.hasBatch)
    tracer.count(3, .exported)
    #expect(counted(.exported, 3))
  }

  @Test func `a span within another one has its id as parent, and ends after it began`() throws {
    let tracer = Tracer(ratio: 1, metrics)
    let trace = try #require(TraceParent(Self.sampled))
    tracer.record(
      "call", .client, within: trace, since: .now - .seconds(2), [Span.Attribute("a", "b")], failure: "no answer")
    let span = try #require(tracer.takeBatch().first)
    #expect(span.parentId == trace.parentId && span.trace.traceId == trace.traceId)
    #expect(span.trace.parentId != trace.parentId)
    #expect(span.end - span.start >= 2_000_000_000 && span.failure == "no answer")
  }

  /// The example of OTLP, *JSON Protobuf Encoding*: integers of 64 bits are texts, ids are hexadecimal.
  @Test func `a batch is OTLP in JSON`() throws {
    let trace = try #require(TraceParent(Self.sampled))
    let link = try #require(TraceParent("00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"))
    let spans = [
      Span(
        "POST /purchases", .server, trace, parentId: nil, start: 1_544_712_660_000_000_000,
        end: 1_544_712_661_000_000_000,
        [Span.Attribute("http.route", "a\"b"), Span.Attribute("n", 9_007_199_254_740_993)]),
      Span("job", .consumer, trace, parentId: "b7ad6b7169203331", link: link, start: 2, end: 1, failure: "why"),
    ]
    let body = SpanBatch(spans, from: [Span.Attribute("service.name", "countersign-worker")]).body
    let id = #""traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331""#
    let attributes =
      #"{"key":"http.route","value":{"stringValue":"a\"b"}},{"key":"n","value":{"intValue":"9007199254740993"}}"#
    #expect(
      String(decoding: body, as: UTF8.self)
        == #"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","#
        + #""value":{"stringValue":"countersign-worker"}}]},"scopeSpans":[{"scope":{"name":"countersign"},"spans":["#
        + #"{\#(id),"name":"POST /purchases","kind":2,"startTimeUnixNano":"1544712660000000000","#
        + #""endTimeUnixNano":"1544712661000000000","attributes":[\#(attributes)]},"#
        + #"{\#(id),"parentSpanId":"b7ad6b7169203331","name":"job","kind":5,"startTimeUnixNano":"2","#
        + #""endTimeUnixNano":"2","attributes":[],"links":[{"traceId":"1af7651916cd43dd8448eb211c80319c","#
        + #""spanId":"c7ad6b7169203331"}],"status":{"code":2,"message":"why"}}]}]}]}"#)
  }
}
