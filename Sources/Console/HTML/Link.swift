import Configuration
import Formats

/// The address of a page of the console: a path of segments, each percent-encoded, and perhaps a query.
struct Link: Sendable, Equatable {
  let address: String

  /// - Parameter prefix: the path before all pages, which the configuration has checked.
  init(_ prefix: String, _ segments: [String], query: [(name: String, value: String)] = []) {
    let path = ConsoleSettings.path(of: segments)
    let parameters = query.map { PercentCoding.encoded($0.name) + "=" + PercentCoding.encoded($0.value) }
    address =
      prefix + (path.isEmpty ? "/" : path) + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
  }

  /// The text of a decoded segment: without the `~` in front (``ConsoleSettings/path(of:)``).
  static func text(ofSegment segment: String) -> String {
    segment.utf8.first == UInt8(ascii: "~") ? String(decoding: segment.utf8.dropFirst(), as: UTF8.self) : segment
  }
}
