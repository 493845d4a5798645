import Formats

/// Times as people read them. All are UTC.
enum ConsoleTime {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// For the attribute of an element.
  static func machine(_ time: Int64) -> String { rfc3339(milliseconds: time) }

  /// The time to the second, such as `28 Nov 2026, 13:05:09 UTC`.
  static func exact(_ time: Int64) -> String {
    "\(date(time)), \(rfc3339(milliseconds: time).dropFirst(11).prefix(8)) UTC"
  }

  /// The time to the minute, such as `28 Nov 2026, 13:05 UTC`.
  static func minute(_ time: Int64) -> String {
    "\(date(time)), \(rfc3339(milliseconds: time).dropFirst(11).prefix(5)) UTC"
  }

  /// The day, such as `28 Nov 2026`.
  static func date(_ time: Int64) -> String {
    let text = rfc3339(milliseconds: time)
    let month = Int(text.dropFirst(5).prefix(2)) ?? 1
    let name = months.dropFirst(month - 1).first ?? ""
    return "\(Int(text.dropFirst(8).prefix(2)) ?? 0) \(name) \(text.prefix(4))"
  }

  /// The distance from now, such as `in 3 days` or `2 hours ago`. What is far away is a day.
  static func near(_ time: Int64, now: Int64) -> String {
    let distance = time.subtracting(now)
    let seconds = distance.magnitude / 1000
    if seconds < 5 { return "now" }
    guard let amount = amount(seconds) else { return date(time) }
    return distance > 0 ? "in \(amount)" : "\(amount) ago"
  }

  /// The greatest unit that fits; `nil` beyond 60 days.
  private static func amount(_ seconds: UInt64) -> String? {
    let units: [(UInt64, String)] = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")]
    guard seconds < 60 * 86_400, let (size, name) = units.first(where: { seconds >= $0.0 }) else { return nil }
    let count = seconds / size
    return "\(count) \(name)\(count == 1 ? "" : "s")"
  }
}

extension ConsoleTime {
  /// How long something took, in two units at most, such as `1 min 5 s`. No line breaks within.
  static func duration(_ milliseconds: Int64) -> String {
    let seconds = milliseconds / 1000
    let words =
      switch seconds {
      case ..<1: "\(max(0, milliseconds)) ms"
      case ..<60: "\(seconds) s"
      case ..<3600: "\(seconds / 60) min \(seconds % 60) s"
      case ..<86_400: "\(seconds / 3600) h \(seconds / 60 % 60) min"
      default: "\(seconds / 86_400) d \(seconds / 3600 % 24) h"
      }
    return words.replacing(" ", with: "\u{a0}")
  }

  /// A short time in milliseconds, without a break before the unit.
  static func milliseconds(_ time: Int64) -> String { "\(time)\u{a0}ms" }
}
