import Domain
import EventLoop
import HTTPServer
import Observability
import RoleSupport
import TestSupport
import Testing

@testable import Service

/// The exporter beside a collector that takes, refuses or hangs.
@LoopActor
struct TraceExporterTests {
  private let posted = Mailbox<HTTPServerRequest>(of: "requests of the collector")
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  /// Runs a body with a started exporter, and stops it.
  private func with(
    status: Int = 200, gate: Gate? = nil,
    _ body: @LoopActor (RoleContext, TraceExporter) async throws -> Void
  ) async throws {
    var configuration = HTTPServer.Configuration(
      maxConnectionsPerAddress: .max, largeBodyShares: .init(ofPublisher: 1, ofAddress: 1))
    configuration.maxBodyBytes = 1 << 20
    // A busy machine may be late with all of it.
    (configuration.headTimeout, configuration.bodyTimeout, configuration.idleTimeout) = (
      .patience, .patience, .patience
    )
    let server = try HTTPServer(configuration) { [posted] request in
      posted.put(request)
      await gate?.pass()
      return .text(status, "")
    }
    let settings = #"{"traces": {"url": "http://127.0.0.1:\#(server.port)/v1/traces", "ratio": 1}}"#
    let context = RoleContext(
      role: "worker", settings: try folder.settings(settings), publishers: Publishers([]), doors: DoorCatalog([]))
    let exporter = TraceExporter(context, patience: .patience, farewell: .patience)
    exporter.start()
    try await body(context, exporter)
    await exporter.stop(within: .patience)
    await server.close()
  }

  private func record(_ context: RoleContext, _ count: Int) {
    for _ in 0..<count { context.tracer.record("a", .server, context.tracer.begin(), parentId: nil, since: .now) }
  }

  private func counted(_ context: RoleContext, _ outcome: String, _ spans: Int) -> Bool {
    context.metrics.text().contains("countersign_spans_total{outcome=\"\(outcome)\"} \(spans)\n")
  }

  @Test(.timeLimit(.minutes(2))) func `a full batch goes at once, and the rest with the stop`() async throws {
    try await with { context, exporter in
      record(context, Tracer.batch)
      let requests = try await posted.wait { $0.count == 1 }
      #expect(requests[0].path == ["v1", "traces"] && requests[0].header("content-type") == "application/json")
      try await eventually("they are exported") { counted(context, "exported", Tracer.batch) }
      record(context, 3)
      await exporter.stop(within: .patience)
      #expect(counted(context, "exported", Tracer.batch + 3))
      record(context, 1)
    }
    #expect(posted.all.count == 2)
  }

  @Test(.timeLimit(.minutes(2))) func `what the collector refuses is counted, and not sent again`() async throws {
    try await with(status: 503) { context, _ in
      record(context, Tracer.batch)
      try await eventually("they have failed") { counted(context, "failed", Tracer.batch) }
    }
    #expect(posted.all.count == 1)
  }

  @Test(.timeLimit(.minutes(2))) func `one batch is on its way at a time, and the rest is dropped`() async throws {
    let gate = Gate()
    try await with(gate: gate) { context, _ in
      record(context, Tracer.batch)
      _ = try await posted.wait { $0.count == 1 }
      record(context, Tracer.most + 5)
      #expect(posted.all.count == 1 && counted(context, "dropped", 5))
      gate.open()
      try await eventually("all that was kept is exported") {
        counted(context, "exported", Tracer.batch + Tracer.most)
      }
    }
  }

  @Test func `without a URL nothing is recorded`() throws {
    let context = RoleContext(
      role: "worker", settings: try folder.settings("{}"), publishers: Publishers([]), doors: DoorCatalog([]))
    TraceExporter(context).start()
    record(context, 1)
    #expect(!context.tracer.isOn && context.tracer.takeBatch().isEmpty)
  }
}
