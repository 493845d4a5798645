import EventLoop
import HTTPServer
import Observability
import Testing

@testable import Gateway

/// The span of a request, and the header that its handler gets.
@LoopActor
struct RequestSpanTests {
  private nonisolated static let caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  private func request(_ traceparents: String...) -> HTTPServerRequest {
    HTTPServerRequest(
      method: "POST", path: ["storekit2", "purchases"],
      headers: traceparents.map { (name: "TraceParent", value: $0) } + [(name: "X-Other", value: "1")], body: [1])
  }

  @Test func `without a collector the request stays as it is`() {
    #expect(RequestSpan(of: request(Self.caller), Tracer(ratio: nil, Metrics())) == nil)
  }

  @Test func `the handler gets the request's own span in place of the caller's`() throws {
    let tracer = Tracer(ratio: 0, Metrics())
    let span = try #require(RequestSpan(of: request(Self.caller, "00-other"), tracer))
    let own = try #require(span.request.header("traceparent").flatMap { TraceParent($0) })
    #expect(own.traceId == "0af7651916cd43dd8448eb211c80319c" && own.parentId != "b7ad6b7169203331")
    #expect(span.request.headers.count == 2 && span.request.header("x-other") == "1" && span.request.body == [1])
    span.end("/storekit2/purchases", 202, since: .now)
    let recorded = try #require(tracer.takeBatch().first)
    #expect(recorded.trace == own && recorded.parentId == "b7ad6b7169203331" && recorded.failure == nil)
  }

  @Test(arguments: [(500, "500" as String?), (499, nil)])
  func `an answer of 500 or more is a failure`(status: Int, failure: String?) throws {
    let tracer = Tracer(ratio: 1, Metrics())
    let span = try #require(RequestSpan(of: request(), tracer))
    span.end("/x", status, since: .now)
    #expect(try #require(tracer.takeBatch().first).failure == failure)
  }

  @Test func `what is not sampled is not recorded, and says so to what follows`() throws {
    let tracer = Tracer(ratio: 0, Metrics())
    let span = try #require(RequestSpan(of: request(), tracer))
    #expect(span.request.header("traceparent")?.hasSuffix("-00") == true)
    span.end("/x", 200, since: .now)
    #expect(tracer.takeBatch().isEmpty)
  }
}
