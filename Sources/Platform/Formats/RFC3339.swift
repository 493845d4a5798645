import Glibc

/// Formats milliseconds since 1970 as RFC 3339 in UTC. A time outside the years 1970 to 9999 becomes the nearer end.
public func rfc3339(milliseconds: Int64) -> String {
  // The form has room for the years to 9999. A date of Apple's or of a client's must not end the process.
  let milliseconds = milliseconds.asTime
  var seconds = time_t(milliseconds / 1000)
  var parts = tm()
  gmtime_r(&seconds, &parts)
  return String(unsafeUninitializedCapacity: 24) { text in
    var end = 0
    func append(_ number: Int, digits: Int, then mark: Unicode.Scalar) {
      var rest = number
      for place in stride(from: end + digits - 1, through: end, by: -1) {
        text[place] = UInt8(ascii: "0") + UInt8(rest % 10)
        rest /= 10
      }
      text[end + digits] = UInt8(ascii: mark)
      end += digits + 1
    }
    append(Int(parts.tm_year) + 1900, digits: 4, then: "-")
    append(Int(parts.tm_mon) + 1, digits: 2, then: "-")
    append(Int(parts.tm_mday), digits: 2, then: "T")
    append(Int(parts.tm_hour), digits: 2, then: ":")
    append(Int(parts.tm_min), digits: 2, then: ":")
    append(Int(parts.tm_sec), digits: 2, then: ".")
    append(Int(milliseconds % 1000), digits: 3, then: "Z")
    return end
  }
}

/// Reads a time after RFC 3339, with or without a fraction of a second. It cuts the fraction off after the
/// milliseconds.
///
/// An offset may lack its colon, as Xcode writes it.
///
/// - Returns: milliseconds since 1970; `nil` for any other text.
public func milliseconds(rfc3339 text: String) -> Int64? {
  var rest = TimeText(text)
  guard let year = rest.number(4), rest.take("-"), let month = rest.number(2), rest.take("-"), let day = rest.number(2),
    rest.take("T") || rest.take(" "), let hour = rest.number(2), rest.take(":"), let minute = rest.number(2),
    rest.take(":"), let second = rest.number(2), let fraction = rest.fraction(), let offset = rest.offset(),
    rest.isAtEnd, isDate(year, month, day), hour < 24, minute < 60, second <= 60
  else { return nil }
  let minutes = (daysSince1970(year, month, day) * 24 + hour) * 60 + minute - offset
  return (minutes * 60 + second) * 1000 + fraction
}

/// The days of a date since 1970 in the proleptic Gregorian calendar.
///
/// It counts in years that begin with March, so that the leap day is last.
public func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
  let year = month <= 2 ? year - 1 : year
  let era = (year >= 0 ? year : year - 399) / 400
  let yearOfEra = year - era * 400
  let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
  return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
}

private func isDate(_ year: Int64, _ month: Int64, _ day: Int64) -> Bool {
  guard (1...12).contains(month), day >= 1 else { return false }
  let next = month == 12 ? daysSince1970(year + 1, 1, 1) : daysSince1970(year, month + 1, 1)
  return daysSince1970(year, month, day) < next
}

/// The rest of a time's text.
private struct TimeText {
  private var rest: Substring.UTF8View

  init(_ text: String) { rest = text.utf8[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func number(_ digits: Int) -> Int64? {
    let text = rest.prefix(digits)
    guard text.count == digits, text.allSatisfy(\.isASCIIDigit) else { return nil }
    rest = rest.dropFirst(digits)
    return text.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest = rest.dropFirst()
    return true
  }

  /// Reads a fraction of a second as milliseconds; 0 without a fraction.
  mutating func fraction() -> Int64? {
    guard take(".") else { return 0 }
    var (milliseconds, place): (Int64, Int64) = (0, 100)
    guard let first = number(1) else { return nil }
    milliseconds = first * place
    while let digit = number(1) {
      place /= 10
      milliseconds += digit * place
    }
    return milliseconds
  }

  /// Reads the offset from UTC in minutes.
  mutating func offset() -> Int64? {
    if take("Z") { return 0 }
    let sign: Int64 = take("+") ? 1 : take("-") ? -1 : 0
    guard sign != 0, let hours = number(2) else { return nil }
    _ = take(":")
    guard let minutes = number(2), hours < 24, minutes < 60 else { return nil }
    return sign * (hours * 60 + minutes)
  }
}
