import Formats

/// Reads the header `Retry-After` (RFC 9110, section 10.2.3).
enum EndpointRetryAfter {
  /// The longest delay that an endpoint may ask for.
  static let longest: Duration = .seconds(86_400)

  /// Returns the delay, from zero to a day; `nil` if the text is neither seconds nor a date.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func wait(_ text: String, now: Int64) -> Duration? {
    if text.isASCIIDigits() {
      return Int64(text).map { min(.seconds(min($0, 1_000_000)), longest) } ?? longest
    }
    return HTTPDate.seconds(text).map { min(max(.zero, .milliseconds($0 * 1000 - now)), longest) }
  }
}
