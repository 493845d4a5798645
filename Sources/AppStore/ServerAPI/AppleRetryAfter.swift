import Formats

/// The `Retry-After` header. Apple sends an absolute time in milliseconds; HTTP knows seconds and dates.
enum AppleRetryAfter {
  /// Apple counts by the hour, so no sensible time is further away. A wrong header must not stop a fleet for days.
  static let longestWait: Int64 = 60 * 60 * 1000

  /// Returns the time that the header means, in milliseconds since 1970, at least `now` and at most an hour later.
  static func milliseconds(_ text: String, now: Int64) -> Int64? {
    guard let time = absolute(text, now: now) else { return nil }
    return min(max(time, now), now + longestWait)
  }

  /// Tells the forms apart by magnitude: no wait has a billion seconds, and no header means a time before 2001.
  private static func absolute(_ text: String, now: Int64) -> Int64? {
    guard let number = Int64(text) else { return HTTPDate.seconds(text).map { $0 * 1000 } }
    switch number {
    case ..<0: return nil
    case ..<1_000_000_000: return now + number * 1000
    case ..<1_000_000_000_000: return number * 1000
    default: return number
    }
  }
}
