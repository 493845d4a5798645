/// How fast time passes for periods. In Apple's sandbox, a month passes in minutes; here it passes in one.
///
/// Only lengths shrink. Every date that is signed is a real instant.
struct LifeScale: Equatable, Sendable {
  /// The real milliseconds of a month of thirty days.
  let month: Int64

  /// - Parameter monthMilliseconds: 0 stands for real time.
  init(monthMilliseconds: Int64) {
    month = monthMilliseconds > 0 ? monthMilliseconds : 30 * millisecondsPerDay
  }

  /// The real milliseconds of some months.
  func months(_ count: Int64) -> Int64 { month * count }

  /// The real milliseconds of some days.
  func days(_ count: Int64) -> Int64 { month * count / 30 }

  /// The real milliseconds of some hours.
  func hours(_ count: Int64) -> Int64 { month * count / 720 }

  /// The real milliseconds of an ISO 8601 duration of one part, such as `P1W`; `nil` for any other text.
  func period(_ text: String) -> Int64? {
    guard text.first == "P", let unit = text.last, let count = Int64(text.dropFirst().dropLast()), 1...1000 ~= count
    else { return nil }
    switch unit {
    case "D": return days(count)
    case "W": return days(count * 7)
    case "M": return months(count)
    case "Y": return months(count * 12)
    default: return nil
    }
  }
}
