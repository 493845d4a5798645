import JSON

/// A customer's wish to get the money back, and what the developer's server answered.
struct LifeRefundRequest: Equatable, Sendable {
  var transactionId: String
  /// Apple's name of the reason.
  var reason: String
  /// UNIX milliseconds.
  var requestedAt: Int64
  var answers: [Answer] = []

  /// One call of Send Consumption Information.
  struct Answer: Equatable, Sendable {
    /// UNIX milliseconds.
    var time: Int64
    /// The version of the endpoint.
    var version: Int
    var body: JSONValue
    /// Whether it came within Apple's twelve hours.
    var isInTime: Bool
  }

  /// Twelve real hours: a deadline is a promise between servers, so it does not shrink.
  static let limit: Int64 = 12 * 3_600_000
}
