import Configuration
public import EventLoop
import HTTP
import HTTPClient
import Observability

/// Sends the spans of a role to a collector: OTLP/HTTP with JSON.
///
/// Nothing waits for it. A batch that the collector does not take is dropped and counted; while one batch is on its
/// way, the tracer keeps the next spans, up to its limit.
@LoopActor
public final class TraceExporter: RoleService {
  private let context: RoleContext
  private let resource: [Span.Attribute]
  private let running = RunningTasks()
  private var client: HTTPClient?
  private var phase = ServicePhase.new
  private lazy var sends = Chore(every: Self.pause, after: Self.pause, .last) { [weak self] in await self?.send() }
  private var lastWarning: ContinuousClock.Instant?
  private let patience: Duration
  private let farewell: Duration

  /// The time after which few spans go, too.
  private static let pause = Duration.seconds(2)

  /// Creates an exporter. Without `traces.url` it does nothing.
  ///
  /// - Parameters:
  ///   - patience: how long a collector may take for a batch.
  ///   - farewell: how long a stop may take at most, also within a longer grace period.
  public init(_ context: RoleContext, patience: Duration = .seconds(10), farewell: Duration = .seconds(2)) {
    (self.context, self.patience, self.farewell) = (context, patience, farewell)
    resource = [
      Span.Attribute("service.name", "countersign-\(context.role)"), Span.Attribute("service.namespace", "countersign"),
      Span.Attribute("service.instance.id", TraceParent().traceId),
    ]
  }

  public func start() {
    guard context.tracer.isOn, phase.start() else { return }
    var configuration = HTTPClientConfiguration()
    configuration.caFile = context.settings.traces.caFile
    configuration.allowsPlainHTTP = true
    configuration.maxConnectionsPerHost = 1
    configuration.connectTimeout = patience / 2
    client = HTTPClient(configuration)
    sends.start()
    context.tracer.batches.add { [weak sends] in sends?.lookNow() }
  }

  public func close() {}

  /// Sends what is left.
  public func stop(within grace: Duration) async {
    guard phase.stop() else { return }
    let deadline = Deadline(after: min(grace, farewell))
    await sends.stop(within: deadline.left)
    running.start { [self] in await send() }
    await running.finish(within: deadline.left)
    client?.close()
  }

  private func send() async {
    guard let client, let url = context.settings.traces.url else { return }
    repeat {
      let spans = context.tracer.takeBatch()
      if spans.isEmpty { return }
      await post(spans, to: url, client)
    } while context.tracer.hasBatch && !Task.isCancelled
  }

  private func post(_ spans: [Span], to url: String, _ client: HTTPClient) async {
    var headers = [(name: "Content-Type", value: "application/json")]
    if let value = context.settings.traces.authorization { headers.append((name: "Authorization", value: value)) }
    let request = HTTPClientRequest(
      "POST", url, headers: headers, body: SpanBatch(spans, from: resource).body,
      timeout: patience, maxResponseBytes: 64 << 10)
    let cause: String
    do {
      let answer = try await client.send(request)
      if (200..<300).contains(answer.status) { return context.tracer.count(spans.count, .exported) }
      cause = "the collector answers \(answer.status)"
    } catch {
      cause = "\(error)"
    }
    context.tracer.count(spans.count, .failed)
    if lastWarning.map({ .now - $0 > .seconds(60) }) ?? true {
      lastWarning = .now
      context.log.warning("spans were not exported", ["spans": .int(Int64(spans.count)), "cause": .string(cause)])
    }
  }
}
