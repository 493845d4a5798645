/// An error of the App Store Server API, with the members of its body.
struct StoreFailure: Error, Equatable, Sendable {
  var code: Int
  var message: String
  /// The earliest time of the next call, in UNIX milliseconds (Apple's form, not that of RFC 9110).
  var retryAfter: Int64?

  /// The HTTP status: the first three digits of the code.
  var status: Int { code / 10_000 }

  static let badRequest = StoreFailure(code: 4_000_000, message: "Bad request.")
  static let invalidAppIdentifier = StoreFailure(code: 4_000_002, message: "Invalid request app identifier.")
  static let invalidTransactionId = StoreFailure(code: 4_000_006, message: "Invalid transaction id.")
  static let invalidRevision = StoreFailure(code: 4_000_005, message: "Invalid request revision.")
  static let startDateTooFarInPast = StoreFailure(code: 4_000_012, message: "Start date too far in past.")
  static let startDateAfterEndDate = StoreFailure(code: 4_000_013, message: "Start date after end date.")
  static let invalidPaginationToken = StoreFailure(code: 4_000_014, message: "Invalid pagination token.")
  static let invalidStartDate = StoreFailure(code: 4_000_015, message: "Invalid start date.")
  static let invalidEndDate = StoreFailure(code: 4_000_016, message: "Invalid end date.")
  static let invalidNotificationType = StoreFailure(code: 4_000_018, message: "Invalid notification type or subtype.")
  static let multipleFilters = StoreFailure(code: 4_000_019, message: "Multiple filters supplied.")
  static let invalidTestToken = StoreFailure(code: 4_000_020, message: "Invalid test notification token.")
  static let invalidSort = StoreFailure(code: 4_000_021, message: "Invalid sort.")
  static let invalidProductType = StoreFailure(code: 4_000_022, message: "Invalid product type.")
  static let invalidProductId = StoreFailure(code: 4_000_023, message: "Invalid product id.")
  static let invalidGroup = StoreFailure(code: 4_000_024, message: "Invalid subscription group identifier.")
  static let invalidOwnership = StoreFailure(code: 4_000_026, message: "Invalid in app ownership type.")
  static let invalidRevoked = StoreFailure(code: 4_000_030, message: "Invalid revoked.")
  static let invalidStatus = StoreFailure(code: 4_000_031, message: "Invalid request. The status parameter is invalid.")
  static let invalidConsumptionToken = StoreFailure(code: 4_000_033, message: "Invalid app account token.")
  static let invalidCustomerConsented = StoreFailure(code: 4_000_035, message: "Invalid customer consented.")
  static let invalidDeliveryStatus = StoreFailure(code: 4_000_036, message: "Invalid delivery status.")
  static let invalidSampleContent = StoreFailure(code: 4_000_041, message: "Invalid sample content provided.")
  static let typeNotSupported = StoreFailure(code: 4_000_047, message: "Transaction type not supported.")
  static let familyNotSupported = StoreFailure(code: 4_000_185, message: "Family transaction not supported.")
  static let noNotificationURL = StoreFailure(code: 4_040_007, message: "No App Store Server Notification URL found.")
  static let testNotFound = StoreFailure(code: 4_040_008, message: "Test notification not found.")
  static let transactionIdNotFound = StoreFailure(code: 4_040_010, message: "Transaction id not found.")
  static let general = StoreFailure(code: 5_000_000, message: "An unknown error occurred.")
  static let generalRetryable = StoreFailure(
    code: 5_000_001, message: "An unknown error occurred. Please try again.")

  /// An error whose number Apple does not document.
  static func unnumbered(_ message: String) -> StoreFailure { StoreFailure(code: 4_000_000, message: message) }

  static func rateLimited(until time: Int64) -> StoreFailure {
    StoreFailure(code: 4_290_000, message: "Rate limit exceeded.", retryAfter: time)
  }
}
