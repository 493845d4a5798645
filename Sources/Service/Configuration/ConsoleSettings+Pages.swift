public import Domain
import Formats

/// Addresses of the console's pages, for the console and for answers that lead there.
extension ConsoleSettings {
  /// The whole address of a customer's page; `nil` if ``publicURL`` says nothing.
  public func page(of customer: CustomerKey) -> String? {
    publicURL.map { $0 + Self.path(of: Self.segments(of: customer)) }
  }

  /// The segments of a customer's page.
  public static func segments(of customer: CustomerKey) -> [String] {
    ["customers", "\(customer.publisherId)", customer.id.text]
  }

  /// A path of segments, each percent-encoded.
  ///
  /// A browser takes the segments `.` and `..` for steps, also percent-encoded. So they get a `~` in front, and so does
  /// a segment that has one.
  public static func path(of segments: [String]) -> String {
    segments.map { "/" + PercentCoding.encoded(escaped($0)) }.joined()
  }

  private static func escaped(_ segment: String) -> String {
    segment == "." || segment == ".." || segment.utf8.first == UInt8(ascii: "~") ? "~" + segment : segment
  }
}
