/// Where the traces of a process go.
public struct TraceSettings: Sendable {
  /// The collector's URL for traces, as OTLP/HTTP has it; `nil` records nothing.
  public var url: String?
  /// The part of the traces that begin here that is recorded, from 0 to 1.
  public var ratio: Double
  /// A PEM file of certificate authorities instead of the system's.
  public var caFile: String?
  /// The value of the header `Authorization` for the collector.
  public var authorization: String?

  static let key = "traces.url"

  init(_ reader: SettingsReader) {
    url = reader.optionalString(
      Self.key,
      "Address that receives the traces, by OTLP/HTTP with JSON: `http://localhost:4318/v1/traces`. Without it, no "
        + "trace is recorded.")
    ratio = reader.factor(
      "traces.ratio", 0.01, 0...1,
      "The part of the traces that is recorded. If a request has a `traceparent`, the `traceparent` decides instead.")
    caFile = reader.optionalPath(
      "traces.caFile", "PEM file of certificate authorities for the collector, instead of the system's.")
    authorization = reader.password(
      "traces.authorizationFile", "File with the value of the header `Authorization` for the collector.")
    if let url, !["http://", "https://"].contains(where: { url.hasPrefix($0) && url.count > $0.count }) {
      reader.note(Self.key, "expected http:// or https://, for example http://localhost:4318/v1/traces")
    }
    if let caFile { reader.noteAuthorities("traces.caFile", caFile) }
  }
}
