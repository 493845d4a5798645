import Glibc

/// A text of many lines, such as a log or the metrics of a role, in which the C library searches.
///
/// In a debug build, a generic search through a `String` takes a hundred times as long, and tests look at the logs and
/// the metrics of their fleets all the time.
public struct LineSearch {
  /// The text, with a NUL behind it.
  private let bytes: [UInt8]

  /// Creates it for a text in UTF-8.
  public init(_ text: [UInt8]) { bytes = text + [0] }

  /// All lines, without their breaks.
  public var all: [Substring] { lines(with: "") }

  /// The lines that contain a part, without their breaks.
  public func lines(with part: String) -> [Substring] {
    // The search would find it across a break.
    if part.utf8.contains(UInt8(ascii: "\n")) { return [] }
    return bytes.withUnsafeBytes { raw in
      raw.withMemoryRebound(to: CChar.self) { text in
        guard let base = text.baseAddress else { return [] }
        var found: [Substring] = []
        let end = text.count - 1
        // Where the search goes on, and where the line begins at the earliest.
        var (start, line) = (0, 0)
        while start < end {
          guard let hit = strstr(base + start, part) else {
            // A NUL ends a text of the C library, and not this one.
            start += strlen(base + start) + 1
            continue
          }
          let place = UnsafePointer(hit) - base
          var first = place
          while first > line, text[first - 1] != Self.lineBreak { first -= 1 }
          let next = memchr(hit, Int32(Self.lineBreak), end - place)
          let last = next.map { UnsafeRawPointer($0) - UnsafeRawPointer(base) } ?? end
          found.append(Substring(String(decoding: bytes[first..<last], as: UTF8.self)))
          (start, line) = (last + 1, last + 1)
        }
        return found
      }
    }
  }

  private static let lineBreak = CChar(bitPattern: UInt8(ascii: "\n"))
}
