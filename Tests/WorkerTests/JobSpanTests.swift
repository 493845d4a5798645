import AppStore
import Domain
import EventLoop
import Messaging
import Observability
import Testing

@testable import Worker

/// The spans of a run, by the job's trace and attempt.
@LoopActor
struct JobSpanTests {
  private nonisolated static let caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
  private let tracer = Tracer(ratio: 0, Metrics())

  private nonisolated static func job(_ traceparent: String?) -> Job {
    Job(
      synchronizationId: "s", publisherId: 1, customerId: "jane@example.com", transactionId: "100",
      registeredAt: JobRunBench.now, traceparent: traceparent)
  }

  @Test(arguments: [nil, "", "00-t", String(caller.dropLast()) + "0"])
  func `a job without a recorded trace has no span`(traceparent: String?) {
    #expect(JobSpan(of: Self.job(traceparent), attempt: 1, tracer) == nil)
  }

  @Test func `without a collector no job has a span`() {
    #expect(JobSpan(of: Self.job(Self.caller), attempt: 1, Tracer(ratio: nil, Metrics())) == nil)
    #expect(JobSpan(of: Self.job(Self.caller), attempt: 1, nil) == nil)
  }

  @Test func `the first attempt is a part of the registration's trace, with what happens in it`() throws {
    let span = try #require(JobSpan(of: Self.job(Self.caller), attempt: 1, tracer))
    span.called(.transactionInfo, "ok", since: .now)
    span.called(.subscriptionStatuses, "rate_limited", since: .now)
    span.committed(since: .now)
    span.note(result: "PURCHASE_SYNCHRONIZED")
    span.end()
    let spans = tracer.takeBatch()
    #expect(spans.map(\.name).suffix(2) == ["commit", "job registration"] && spans.count == 4)
    let run = try #require(spans.last)
    #expect(run.trace.traceId == "0af7651916cd43dd8448eb211c80319c" && run.parentId == "b7ad6b7169203331")
    #expect(run.link == nil && run.failure == nil && run.kind == .consumer)
    #expect(spans.dropLast().allSatisfy { $0.parentId == run.trace.parentId && $0.trace.traceId == run.trace.traceId })
    #expect(spans.map(\.failure) == [nil, "rate_limited", nil, nil])
    #expect(run.attributes.contains(Span.Attribute("countersign.result", "PURCHASE_SYNCHRONIZED")))
    #expect(!spans.contains { "\($0)".contains("jane") }, "a trace names no customer")
  }

  @Test func `a further attempt begins a trace, with a link to the first one`() throws {
    let span = try #require(JobSpan(of: Self.job(Self.caller), attempt: 2, tracer))
    span.note(retry: "network")
    span.end()
    let run = try #require(tracer.takeBatch().first)
    #expect(run.parentId == nil && run.link?.description == Self.caller && run.failure == "network")
    #expect(run.trace.traceId != "0af7651916cd43dd8448eb211c80319c")
  }

  /// The publish is a part of the registration's trace: the event carries it.
  @Test func `a run records itself, its commit and its publish`() async throws {
    let bench = try JobRunBench()
    bench.attempts = [JobRunBench.attempt()]
    await bench.run(Self.job(Self.caller))
    let spans = bench.tracer.takeBatch()
    let published = ["publish entitlementsChanged", "publish inappPurchaseSyncResult"]
    #expect(spans.map(\.name).sorted() == ["commit", "job registration"] + published)
    #expect(Set(spans.map(\.trace.traceId)) == ["0af7651916cd43dd8448eb211c80319c"])
  }
}
