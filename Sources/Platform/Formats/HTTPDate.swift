/// Dates of HTTP (RFC 9110, section 5.6.7), in the three forms that a recipient must accept.
public enum HTTPDate {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
  ///
  /// - Returns: seconds since 1970; `nil` when the text is not a date.
  public static func seconds(_ text: String) -> Int64? {
    let words = text.split { " ,-:".contains($0) }
    let places: (day: Int, month: Int, year: Int, hour: Int)
    switch words.count {
    case 8 where words[7] == "GMT": places = (1, 2, 3, 4)
    case 7: places = (2, 1, 6, 3)
    default: return nil
    }
    func number(_ place: Int, _ range: ClosedRange<Int64>) -> Int64? {
      guard words[place].isASCIIDigits(1...4) else { return nil }
      return Int64(words[place]).flatMap { range.contains($0) ? $0 : nil }
    }
    guard let month = months.firstIndex(of: String(words[places.month])), let day = number(places.day, 1...31),
      var year = number(places.year, 0...9999), let hour = number(places.hour, 0...23),
      let minute = number(places.hour + 1, 0...59), let second = number(places.hour + 2, 0...60)
    else { return nil }
    if words[places.year].utf8.count == 2 { year += year < 70 ? 2000 : 1900 }
    return daysSince1970(year, Int64(month) + 1, day) * 86_400 + hour * 3600 + minute * 60 + second
  }
}
