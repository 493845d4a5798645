/// The dates in receipts: RFC 3339, also with an offset without a colon, as Xcode writes it.
enum ReceiptDate {
  /// Returns a date in milliseconds since 1970; fractions of a second are cut.
  static func milliseconds(_ text: String) -> Int64? {
    var rest = text.utf8[...]
    guard let year = number(4, &rest), take("-", &rest), let month = number(2, &rest), take("-", &rest),
      let day = number(2, &rest), take("T", &rest) || take(" ", &rest), let hour = number(2, &rest), take(":", &rest),
      let minute = number(2, &rest), take(":", &rest), let second = number(2, &rest)
    else { return nil }
    if take(".", &rest) {
      guard number(1, &rest) != nil else { return nil }
      while number(1, &rest) != nil {}
    }
    guard let offset = offset(&rest), rest.isEmpty, (1...12).contains(month), (1...days(month, year)).contains(day),
      hour < 24, minute < 60, second <= 60
    else { return nil }
    let minutes = (daysSince1970(year, month, day) * 24 + hour) * 60 + minute - offset
    return (minutes * 60 + second) * 1000
  }

  /// Reads the offset from UTC in minutes.
  private static func offset(_ rest: inout Substring.UTF8View) -> Int64? {
    if take("Z", &rest) { return 0 }
    let sign: Int64 = take("+", &rest) ? 1 : take("-", &rest) ? -1 : 0
    guard sign != 0, let hours = number(2, &rest) else { return nil }
    _ = take(":", &rest)
    guard let minutes = number(2, &rest), hours < 24, minutes < 60 else { return nil }
    return sign * (hours * 60 + minutes)
  }

  private static func number(_ digits: Int, _ rest: inout Substring.UTF8View) -> Int64? {
    let text = rest.prefix(digits)
    guard text.count == digits, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    rest = rest.dropFirst(digits)
    return text.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  private static func take(_ character: Unicode.Scalar, _ rest: inout Substring.UTF8View) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest = rest.dropFirst()
    return true
  }

  private static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  private static func days(_ month: Int64, _ year: Int64) -> Int64 {
    month == 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// Counts days in the proleptic Gregorian calendar, with years that begin in March, so that a leap day is the last.
  private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let leapDays = shifted / 4 - shifted / 100 + shifted / 400
    return shifted * 365 + leapDays + dayOfYear - 719_468
  }
}
