/// `timestamptz` counts microseconds since 2000; we count milliseconds since 1970.
enum PostgresTime {
  /// 2000-01-01T00:00:00Z in milliseconds since 1970.
  private static let epoch: Int64 = 946_684_800_000

  /// The wire form of a time. A time too far away is `infinity` or `-infinity`.
  static func microseconds(_ milliseconds: Int64) -> Int64 {
    let (sinceEpoch, isTooEarly) = milliseconds.subtractingReportingOverflow(epoch)
    guard !isTooEarly else { return .min }
    let (microseconds, isTooFar) = sinceEpoch.multipliedReportingOverflow(by: 1000)
    guard isTooFar else { return microseconds }
    return sinceEpoch < 0 ? .min : .max
  }

  /// The milliseconds of a wire form, rounded down. `infinity` and `-infinity` are the largest and smallest number.
  static func milliseconds(_ microseconds: Int64) -> Int64 {
    if microseconds == .min || microseconds == .max { return microseconds }
    let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1000)
    return (remainder < 0 ? quotient - 1 : quotient) + epoch
  }
}
