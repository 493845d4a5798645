import Formats

/// The address of a page of the console: a path of segments, each percent-encoded, and perhaps a query.
///
/// A browser takes the segments `.` and `..` for steps, also percent-encoded. So they get a `~` in front, and so does a
/// segment that has one.
struct Link: Sendable, Equatable {
  let address: String

  /// - Parameter prefix: the path before all pages, which the configuration has checked.
  init(_ prefix: String, _ segments: [String], query: [(name: String, value: String)] = []) {
    let path = segments.map { "/" + PercentCoding.encoded(Self.segment($0)) }.joined()
    let parameters = query.map { PercentCoding.encoded($0.name) + "=" + PercentCoding.encoded($0.value) }
    address =
      prefix + (path.isEmpty ? "/" : path) + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
  }

  private static func segment(_ text: String) -> String {
    text == "." || text == ".." || text.utf8.first == UInt8(ascii: "~") ? "~" + text : text
  }

  /// The text of a decoded segment.
  static func text(ofSegment segment: String) -> String {
    segment.utf8.first == UInt8(ascii: "~") ? String(decoding: segment.utf8.dropFirst(), as: UTF8.self) : segment
  }
}
