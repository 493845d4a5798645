import Configuration
import Formats

/// The address of a page of the console: a path of segments, each percent-encoded, and perhaps a query.
struct Link: Sendable, Equatable {
  let address: String

  /// - Parameter prefix: the path before all pages, which the configuration has checked.
  init(_ prefix: String, _ segments: [String], query: [(name: String, value: String)] = []) {
    let path = PagePath(segments).text
    let parameters = query.map { PercentCoding.encoded($0.name) + "=" + PercentCoding.encoded($0.value) }
    address =
      prefix + (path.isEmpty ? "/" : path) + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
  }
}
