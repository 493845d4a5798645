import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import HTTPServer
import ServerSupport
import Simulator
import TestSupport
import Testing

/// A purchase's way as a collector sees it, and a collector that hangs.
@Suite(
  .breakingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30)))
@LoopActor
struct TraceTests {
  private static let traceId = "0af7651916cd43dd8448eb211c80319c"
  private static let caller = "b7ad6b7169203331"
  private static let path = "v1/traces"

  private struct Export: Decodable {
    struct Resource: Decodable { let attributes: [Attribute] }
    struct Scope: Decodable { let spans: [Span] }
    struct One: Decodable {
      let resource: Resource
      let scopeSpans: [Scope]
    }
    let resourceSpans: [One]
  }

  private struct Attribute: Decodable {
    struct Value: Decodable {
      let stringValue: String?
      let intValue: String?
    }
    let key: String
    let value: Value
  }

  private struct Span: Decodable {
    struct Link: Decodable { let traceId, spanId: String }
    let traceId, spanId, name: String
    let parentSpanId: String?
    let links: [Link]?
    let attributes: [Attribute]

    func text(_ key: String) -> String? { attributes.first { $0.key == key }?.value.stringValue }
  }

  /// The spans that the collector has, each with the name of its service.
  private func spans(_ collector: WebhookReceiver) throws -> [(service: String, span: Span)] {
    try collector.got(Self.path).flatMap { received in
      try JSONDecoder().decode(Export.self, from: Data(received.request.body)).resourceSpans.flatMap { one in
        let service = one.resource.attributes.first { $0.key == "service.name" }?.value.stringValue ?? ""
        return one.scopeSpans.flatMap { $0.spans.map { (service, $0) } }
      }
    }
  }

  private func overrides(_ collector: WebhookReceiver) -> [String: String] {
    ["COUNTERSIGN_TRACES_URL": collector.url(Self.path), "COUNTERSIGN_TRACES_RATIO": "0"]
  }

  private func register(_ fleet: RunningFleet, _ transaction: String, _ id: String) async throws {
    let trace = [(name: "traceparent", value: "00-\(Self.traceId)-\(Self.caller)-01"), ("Correlation-Id", id)]
    let body = #"{"cleengCustomerId":7,"transactionId":"\#(transaction)"}"#
    let headers = fleet.headers(RunningFleet.publisher) + trace
    #expect(try await fleet.send("POST", fleet.url("/storekit2/purchases"), headers, body).status == 202)
  }

  @Test func `a purchase is one trace from the request to the webhook, and further attempts link to it`() async throws {
    try await WebhookReceiver.with { collector async throws in
      try await RunningFleet.with(["gateway-1", "worker-1", "notifier-1"], overrides: overrides(collector)) {
        fleet async throws in
        fleet.webhookStatus = { $0 == 1 ? 500 : 200 }
        try await register(fleet, "1000000000001", "traced")
        _ = try await fleet.finished(["traced"])
        fleet.simulator.weather = .failing
        try await register(fleet, "1000000000002", "again")
        try await eventually("the job has failed once") {
          try spans(collector).contains { $0.span.text("countersign.synchronization_id") == "again" }
        }
        fleet.simulator.weather = .fair
        _ = try await fleet.finished(["again"])
        try await eventually("further attempts are there") {
          let linked = try spans(collector).map(\.span).filter { $0.links?.first?.traceId == Self.traceId }
          return Set(linked.map(\.name)).isSuperset(of: ["job registration", "webhook attempt"])
        }

        let all = try spans(collector)
        let own = all.filter { $0.span.traceId == Self.traceId }
        func first(_ name: String, _ id: String? = nil) throws -> Span {
          let found = own.first {
            $0.span.name == name && (id == nil || $0.span.text("countersign.synchronization_id") == id)
          }
          return try #require(found?.span, "no \(name)")
        }
        let job = try first("job registration", "traced")
        let cause = own.first { $0.span.spanId == job.parentSpanId }
        let request = try #require(cause)
        #expect(request.service == "countersign-gateway" && request.span.parentSpanId == Self.caller)
        #expect(job.text("countersign.result") == "PURCHASE_SYNCHRONIZED")
        for name in ["App Store transaction-info", "commit"] {
          #expect(own.contains { $0.span.name == name && $0.span.parentSpanId == job.spanId }, "\(name)")
        }
        #expect(own.contains { $0.span.name.hasPrefix("publish ") && $0.span.parentSpanId == request.span.spanId })
        #expect(own.contains { $0.service == "countersign-notifier" && $0.span.name == "webhook attempt" })
        let linked = all.map(\.span).filter { $0.links?.first?.traceId == Self.traceId }.map(\.traceId)
        #expect(Set(all.map(\.span.traceId)) == Set(linked + [Self.traceId]))
        // The receiver goes on with the attempt's span.
        let webhook = try #require(fleet.webhooks.all.first)
        #expect(all.contains { "00-\($0.span.traceId)-\($0.span.spanId)-01" == webhook.traceparent })
      }
    }
  }

  @Test func `a collector that hangs delays nothing`() async throws {
    try await WebhookReceiver.with { collector async throws in
      collector.silent = [Self.path]
      try await RunningFleet.with(["gateway-1", "worker-1", "notifier-1"], overrides: overrides(collector)) {
        fleet async throws in
        let ids = (0..<40).map { "hanging\($0)" }
        for (number, id) in ids.enumerated() { try await register(fleet, "10000000001\(number)", id) }
        _ = try await fleet.finished(Set(ids))
        // They were finalized while the first batch was still on its way.
        _ = try await collector.wait(Self.path, for: 1)
        collector.silent = []
      }
    }
  }
}
