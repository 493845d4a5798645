/// An error of the App Store Server API, with the members of its body.
struct StoreFailure: Equatable, Sendable {
  var code: Int
  var message: String
  /// The earliest time of the next call, in UNIX milliseconds (Apple's form, not that of RFC 9110).
  var retryAfter: Int64?

  /// The HTTP status: the first three digits of the code.
  var status: Int { code / 10_000 }

  static let badRequest = StoreFailure(code: 4_000_000, message: "Bad request.")
  static let invalidTransactionId = StoreFailure(code: 4_000_006, message: "Invalid transaction id.")
  static let invalidStatus = StoreFailure(code: 4_000_031, message: "Invalid request. The status parameter is invalid.")
  static let transactionIdNotFound = StoreFailure(code: 4_040_010, message: "Transaction id not found.")
  static let general = StoreFailure(code: 5_000_000, message: "An unknown error occurred.")
  static let generalRetryable = StoreFailure(
    code: 5_000_001, message: "An unknown error occurred. Please try again.")

  static func rateLimited(until time: Int64) -> StoreFailure {
    StoreFailure(code: 4_290_000, message: "Rate limit exceeded.", retryAfter: time)
  }
}
