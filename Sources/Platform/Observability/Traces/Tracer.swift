public import EventLoop
import Glibc

/// Keeps the spans of traces that are sampled until somebody exports them.
///
/// Nothing waits for it: when nobody takes the spans away, it drops new ones and counts them.
@LoopActor
public final class Tracer {
  /// The most spans that wait. A span takes about half a kilobyte.
  public nonisolated static let most = 8192

  /// The part of the traces that begin here that is recorded, from 0 to 1; `nil` records nothing at all.
  private let ratio: Double?
  private var waiting: [Span] = []
  private let fates: Counter
  /// Tells when as many spans wait as a batch takes.
  public let batches = Followers<Void>()

  /// The most spans of a batch.
  public nonisolated static let batch = 512

  /// What becomes of a span.
  public enum Fate: String, Sendable, CaseIterable { case exported, failed, dropped }

  /// Creates a tracer, with its metric.
  public init(ratio: Double?, _ metrics: Metrics) {
    self.ratio = ratio
    fates = metrics.counter(
      "countersign_spans_total", "Spans of traces.", labels: ["outcome"],
      known: Fate.allCases.map { [$0.rawValue] })
  }

  /// Whether anything is recorded.
  public var isOn: Bool { ratio != nil }

  /// The trace of a request: that of its header, or a new one.
  ///
  /// - Returns: the trace with an id of its own for the request's span, and the caller's span.
  public func begin(_ header: String?) -> (trace: TraceParent, parentId: String?) {
    if let caller = header.flatMap({ TraceParent($0) }) { return (caller.child(), caller.parentId) }
    return (begin(), nil)
  }

  /// A new trace.
  public func begin() -> TraceParent {
    TraceParent(isSampled: ratio.map { $0 > 0 && Double.random(in: 0..<1) < $0 } ?? false)
  }

  /// The trace of an attempt at what a trace is about. The first one is a part of it. Each further one comes minutes or
  /// hours later: it begins a trace of its own, with a link.
  ///
  /// - Returns: the trace with an id of its own for the attempt's span, the span that caused it, and the linked trace.
  public func attempt(
    _ number: Int, of caller: TraceParent
  ) -> (trace: TraceParent, parentId: String?, link: TraceParent?) {
    guard records(caller), number > 1 else { return (caller.child(), caller.parentId, nil) }
    return (TraceParent(isSampled: true), nil, caller)
  }

  /// Whether spans of a trace are recorded.
  public func records(_ trace: TraceParent?) -> Bool { isOn && trace?.isSampled == true }

  /// Records a span that ends now.
  ///
  /// - Parameter start: when it began, by the clock of this process.
  public func record(
    _ name: String, _ kind: Span.Kind, _ trace: TraceParent, parentId: String?, link: TraceParent? = nil,
    since start: ContinuousClock.Instant, _ attributes: [Span.Attribute] = [], failure: String? = nil
  ) {
    guard records(trace) else { return }
    guard waiting.count < Self.most else { return fates.count(Fate.dropped.rawValue) }
    let end = Self.now()
    let spent = (ContinuousClock.now - start) / .nanoseconds(1)
    waiting.append(
      Span(
        name, kind, trace, parentId: parentId, link: link, start: end - Int64(spent), end: end, attributes,
        failure: failure))
    if waiting.count == Self.batch { batches.tell(()) }
  }

  /// Records a span within another one that ends now.
  public func record(
    _ name: String, _ kind: Span.Kind, within parent: TraceParent?, since start: ContinuousClock.Instant,
    _ attributes: [Span.Attribute] = [], failure: String? = nil
  ) {
    guard let parent, records(parent) else { return }
    record(name, kind, parent.child(), parentId: parent.parentId, since: start, attributes, failure: failure)
  }

  /// Whether as many spans wait as a batch has.
  public var hasBatch: Bool { waiting.count >= Self.batch }

  /// Takes the oldest spans, as many as a batch has.
  public func takeBatch() -> [Span] {
    let batch = Array(waiting.prefix(Self.batch))
    waiting.removeFirst(batch.count)
    return batch
  }

  /// Counts spans that were taken.
  public func count(_ spans: Int, _ fate: Fate) { fates.add(Double(spans), fate.rawValue) }

  /// Nanoseconds since 1970.
  private static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
