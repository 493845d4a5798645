import Glibc

/// The `Retry-After` header: Apple sends an absolute time in milliseconds, HTTP knows seconds and dates.
enum RetryAfter {
  /// Apple counts by the hour, so that nothing sensible is further away; a wrong header must not stop a fleet for days.
  static let longestWait: Int64 = 60 * 60 * 1000

  /// Returns the time that the header means, in milliseconds since 1970, at least `now` and at most an hour later.
  static func milliseconds(_ text: String, now: Int64) -> Int64? {
    guard let time = absolute(text, now: now) else { return nil }
    return min(max(time, now), now + longestWait)
  }

  /// The forms are told apart by magnitude: no wait is a billion seconds long, no time before 2001 is meant.
  private static func absolute(_ text: String, now: Int64) -> Int64? {
    guard let number = Int64(text) else { return date(text) }
    switch number {
    case ..<0: return nil
    case ..<1_000_000_000: return now + number * 1000
    case ..<1_000_000_000_000: return number * 1000
    default: return number
    }
  }

  /// Reads the date form that RFC 9110 section 5.6.7 lets senders use: `Sun, 06 Nov 1994 08:49:37 GMT`.
  private static func date(_ text: String) -> Int64? {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[5] == "GMT", let day = Int32(parts[1]), let year = Int32(parts[3]),
      let month = months.firstIndex(of: String(parts[2])), (1...31).contains(day), (1970...9999).contains(year)
    else { return nil }
    let time = parts[4].split(separator: ":", omittingEmptySubsequences: false).compactMap { Int32($0) }
    guard time.count == 3, (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2]) else {
      return nil
    }
    var fields = tm()
    fields.tm_year = year - 1900
    fields.tm_mon = Int32(month)
    fields.tm_mday = day
    fields.tm_hour = time[0]
    fields.tm_min = time[1]
    fields.tm_sec = time[2]
    return Int64(timegm(&fields)) * 1000
  }
}
