extension Int64 {
  /// The sum, or the limit beyond which it lies. Dates come from outside, and a silly one must not end the process.
  func adding(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other > 0 ? .max : .min) : sum
  }

  static let millisecondsOfDay: Int64 = 86_400_000
}
