/// One thing that a process did for a trace, from its beginning to its end, as OpenTelemetry describes it.
public struct Span: Sendable, Equatable {
  /// Which side of a call the span is. The numbers are those of OTLP.
  public enum Kind: Int64, Sendable {
    case internally = 1
    case server = 2
    case client = 3
    case producer = 4
    case consumer = 5
  }

  /// The value of an attribute.
  public enum Value: Sendable, Equatable {
    case text(String)
    case number(Int64)
  }

  /// What it is about, for example `countersign.transaction_id`.
  public struct Attribute: Sendable, Equatable {
    let name: String
    let value: Value

    /// An attribute with a text.
    public init(_ name: String, _ text: String) { (self.name, value) = (name, .text(text)) }
    /// An attribute with a number.
    public init(_ name: String, _ number: Int64) { (self.name, value) = (name, .number(number)) }
  }

  /// The trace, with the span's own id in place of the parent's.
  public let trace: TraceParent
  /// The id of the span that caused it, 16 hexadecimal digits; `nil` for the first one of a trace.
  public let parentId: String?
  /// Another trace that it goes on with: that of the first attempt.
  public let link: TraceParent?
  /// What was done: few names, and never an id.
  public let name: String
  public let kind: Kind
  /// Nanoseconds since 1970.
  public let start: Int64
  public let end: Int64
  public let attributes: [Attribute]
  /// Why it failed; `nil` if it did not.
  public let failure: String?

  /// Creates a span.
  public init(
    _ name: String, _ kind: Kind, _ trace: TraceParent, parentId: String?, link: TraceParent? = nil, start: Int64,
    end: Int64, _ attributes: [Attribute] = [], failure: String? = nil
  ) {
    (self.name, self.kind, self.trace, self.parentId, self.link) = (name, kind, trace, parentId, link)
    (self.start, self.end, self.attributes, self.failure) = (start, max(start, end), attributes, failure)
  }
}
