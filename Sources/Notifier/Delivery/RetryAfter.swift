import Observability

/// Reads the header `Retry-After` (RFC 9110, section 10.2.3).
enum RetryAfter {
  /// More than this nobody may ask for.
  static let longest: Duration = .seconds(86_400)

  /// Returns how long to wait, from none to a day; `nil` when the text is neither seconds nor a date.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func wait(_ text: String, now: Int64) -> Duration? {
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return Int64(text).map { min(.seconds(min($0, 1_000_000)), longest) } ?? longest
    }
    return HTTPDate.seconds(text).map { min(max(.zero, .milliseconds($0 * 1000 - now)), longest) }
  }
}

/// Reads a date of HTTP (RFC 9110, section 5.6.7), in the three forms that a recipient must take.
enum HTTPDate {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns seconds since 1970; `nil` when the text is no date.
  static func seconds(_ text: String) -> Int64? {
    let words = text.split { " ,-:".contains($0) }
    // `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`.
    let places: (day: Int, month: Int, year: Int, hour: Int)
    switch words.count {
    case 8 where words[7] == "GMT": places = (1, 2, 3, 4)
    case 7: places = (2, 1, 6, 3)
    default: return nil
    }
    func number(_ place: Int, _ range: ClosedRange<Int64>) -> Int64? {
      let word = words[place]
      guard word.utf8.count <= 4, word.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      return Int64(word).flatMap { range.contains($0) ? $0 : nil }
    }
    guard let month = months.firstIndex(of: String(words[places.month])), let day = number(places.day, 1...31),
      var year = number(places.year, 0...9999), let hour = number(places.hour, 0...23),
      let minute = number(places.hour + 1, 0...59), let second = number(places.hour + 2, 0...60)
    else { return nil }
    if words[places.year].utf8.count == 2 { year += year < 70 ? 2000 : 1900 }
    return daysSince1970(year, Int64(month) + 1, day) * 86_400 + hour * 3600 + minute * 60 + second
  }
}
