extension Int64 {
  /// The times that RFC 3339 can write, in milliseconds since 1970: from 1970 to 9999.
  public static let times: ClosedRange<Int64> = 0...253_402_300_799_999

  /// Whether a number is one of ``times``.
  public var isTime: Bool { Self.times.contains(self) }

  /// The nearest of ``times``.
  public var asTime: Int64 { Swift.min(Swift.max(self, Self.times.lowerBound), Self.times.upperBound) }

  /// 24 hours.
  public static let millisecondsOfDay: Int64 = 86_400_000

  /// The sum, or the limit beyond which it lies. Dates come from outside, and a silly one must not end the process.
  public func adding(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other > 0 ? .max : .min) : sum
  }

  /// The difference, or the limit beyond which it lies.
  public func subtracting(_ other: Int64) -> Int64 {
    let (difference, overflows) = subtractingReportingOverflow(other)
    return overflows ? (other > 0 ? .min : .max) : difference
  }
}
