import JSON

/// Spans in the form that a collector takes: OTLP/HTTP with JSON (OpenTelemetry Protocol, *JSON Protobuf Encoding*).
///
/// Its integers of 64 bits are texts, and its ids are hexadecimal.
public struct SpanBatch: Sendable {
  /// What the process is, for example `service.name`.
  let resource: [Span.Attribute]
  let spans: [Span]

  /// Creates a batch.
  public init(_ spans: [Span], from resource: [Span.Attribute]) { (self.spans, self.resource) = (spans, resource) }

  /// The body of a request to `/v1/traces`.
  public var body: [UInt8] {
    JSONWriter.object { body in
      body.member("resourceSpans", CollectionOfOne(self)) { batch, json in
        json.member("resource") { $0.member("attributes", batch.resource, Self.write) }
        json.member("scopeSpans", CollectionOfOne(batch)) { batch, json in
          json.member("scope") { $0.member("name", "countersign") }
          json.member("spans", batch.spans, Self.write)
        }
      }
    }
  }

  private static func write(_ span: Span, _ json: inout JSONWriter) {
    json.member("traceId", span.trace.traceId)
    json.member("spanId", span.trace.parentId)
    json.member("parentSpanId", span.parentId)
    json.member("name", span.name)
    json.member("kind", span.kind.rawValue)
    json.member("startTimeUnixNano", String(span.start))
    json.member("endTimeUnixNano", String(span.end))
    json.member("attributes", span.attributes, Self.write)
    if let link = span.link {
      json.member("links", CollectionOfOne(link)) { link, json in
        json.member("traceId", link.traceId)
        json.member("spanId", link.parentId)
      }
    }
    if let failure = span.failure {
      json.member("status") {
        $0.member("code", 2 as Int64)
        $0.member("message", failure)
      }
    }
  }

  private static func write(_ attribute: Span.Attribute, _ json: inout JSONWriter) {
    json.member("key", attribute.name)
    json.member("value") { value in
      switch attribute.value {
      case .text(let text): value.member("stringValue", text)
      case .number(let number): value.member("intValue", String(number))
      }
    }
  }
}
