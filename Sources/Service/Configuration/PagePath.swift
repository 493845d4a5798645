import Formats

/// The path of a page of the console: segments, each percent-encoded.
///
/// A browser takes the segments `.` and `..` for steps, also percent-encoded. So they get a `~` in front, and so does a
/// segment that has one: a customer `..` has the page `/customers/7/~..`.
public struct PagePath: Sendable, Equatable {
  /// As a URL has it, such as `/customers/7/42`; empty without segments.
  public let text: String

  /// Makes the path of segments.
  public init(_ segments: [String]) {
    text = segments.map { "/" + PercentCoding.encoded(Self.escaped($0)) }.joined()
  }

  private static func escaped(_ segment: String) -> String {
    segment == "." || segment == ".." || segment.utf8.first == UInt8(ascii: "~") ? "~" + segment : segment
  }

  /// The segment that a decoded one of a request stands for: without the `~` in front.
  public static func segment(ofDecoded text: String) -> String {
    text.utf8.first == UInt8(ascii: "~") ? String(decoding: text.utf8.dropFirst(), as: UTF8.self) : text
  }
}
