extension AppStoreErrorCode {
  /// General bad request.
  public static let generalBadRequest = AppStoreErrorCode(rawValue: 4_000_000)
  /// Invalid app identifier.
  public static let invalidAppIdentifier = AppStoreErrorCode(rawValue: 4_000_002)
  /// Invalid request revision.
  public static let invalidRequestRevision = AppStoreErrorCode(rawValue: 4_000_005)
  /// Invalid transaction id.
  public static let invalidTransactionId = AppStoreErrorCode(rawValue: 4_000_006)
  /// Invalid original transaction id.
  public static let invalidOriginalTransactionId = AppStoreErrorCode(rawValue: 4_000_008)
  /// Invalid extend by days.
  public static let invalidExtendByDays = AppStoreErrorCode(rawValue: 4_000_009)
  /// Invalid extend reason code.
  public static let invalidExtendReasonCode = AppStoreErrorCode(rawValue: 4_000_010)
  /// Invalid request identifier.
  public static let invalidRequestIdentifier = AppStoreErrorCode(rawValue: 4_000_011)
  /// Start date too far in past.
  public static let startDateTooFarInPast = AppStoreErrorCode(rawValue: 4_000_012)
  /// Start date after end date.
  public static let startDateAfterEndDate = AppStoreErrorCode(rawValue: 4_000_013)
  /// Invalid pagination token.
  public static let invalidPaginationToken = AppStoreErrorCode(rawValue: 4_000_014)
  /// Invalid start date.
  public static let invalidStartDate = AppStoreErrorCode(rawValue: 4_000_015)
  /// Invalid end date.
  public static let invalidEndDate = AppStoreErrorCode(rawValue: 4_000_016)
  /// Pagination token expired.
  public static let paginationTokenExpired = AppStoreErrorCode(rawValue: 4_000_017)
  /// Invalid notification type.
  public static let invalidNotificationType = AppStoreErrorCode(rawValue: 4_000_018)
  /// Multiple filters supplied.
  public static let multipleFiltersSupplied = AppStoreErrorCode(rawValue: 4_000_019)
  /// Invalid test notification token.
  public static let invalidTestNotificationToken = AppStoreErrorCode(rawValue: 4_000_020)
  /// Invalid sort.
  public static let invalidSort = AppStoreErrorCode(rawValue: 4_000_021)
  /// Invalid product type.
  public static let invalidProductType = AppStoreErrorCode(rawValue: 4_000_022)
  /// Invalid product id.
  public static let invalidProductId = AppStoreErrorCode(rawValue: 4_000_023)
  /// Invalid subscription group identifier.
  public static let invalidSubscriptionGroupIdentifier = AppStoreErrorCode(rawValue: 4_000_024)
  /// Invalid exclude revoked.
  public static let invalidExcludeRevoked = AppStoreErrorCode(rawValue: 4_000_025)
  /// Invalid in app ownership type.
  public static let invalidInAppOwnershipType = AppStoreErrorCode(rawValue: 4_000_026)
  /// Invalid empty storefront country code list.
  public static let invalidEmptyStorefrontCountryCodeList = AppStoreErrorCode(rawValue: 4_000_027)
  /// Invalid storefront country code.
  public static let invalidStorefrontCountryCode = AppStoreErrorCode(rawValue: 4_000_028)
  /// Invalid revoked.
  public static let invalidRevoked = AppStoreErrorCode(rawValue: 4_000_030)
  /// Invalid status.
  public static let invalidStatus = AppStoreErrorCode(rawValue: 4_000_031)
  /// Invalid account tenure.
  public static let invalidAccountTenure = AppStoreErrorCode(rawValue: 4_000_032)
  /// Invalid app account token.
  public static let invalidAppAccountToken = AppStoreErrorCode(rawValue: 4_000_033)
  /// Invalid consumption status.
  public static let invalidConsumptionStatus = AppStoreErrorCode(rawValue: 4_000_034)
  /// Invalid customer consented.
  public static let invalidCustomerConsented = AppStoreErrorCode(rawValue: 4_000_035)
  /// Invalid delivery status.
  public static let invalidDeliveryStatus = AppStoreErrorCode(rawValue: 4_000_036)
  /// Invalid lifetime dollars purchased.
  public static let invalidLifetimeDollarsPurchased = AppStoreErrorCode(rawValue: 4_000_037)
  /// Invalid lifetime dollars refunded.
  public static let invalidLifetimeDollarsRefunded = AppStoreErrorCode(rawValue: 4_000_038)
  /// Invalid platform.
  public static let invalidPlatform = AppStoreErrorCode(rawValue: 4_000_039)
  /// Invalid play time.
  public static let invalidPlayTime = AppStoreErrorCode(rawValue: 4_000_040)
  /// Invalid sample content provided.
  public static let invalidSampleContentProvided = AppStoreErrorCode(rawValue: 4_000_041)
  /// Invalid user status.
  public static let invalidUserStatus = AppStoreErrorCode(rawValue: 4_000_042)
  /// Invalid transaction not consumable.
  public static let invalidTransactionNotConsumable = AppStoreErrorCode(rawValue: 4_000_043)
  /// Invalid transaction type not supported.
  public static let invalidTransactionTypeNotSupported = AppStoreErrorCode(rawValue: 4_000_047)
  /// App transaction id not supported.
  public static let appTransactionIdNotSupported = AppStoreErrorCode(rawValue: 4_000_048)
  /// Invalid app account token UUID.
  public static let invalidAppAccountTokenUUID = AppStoreErrorCode(rawValue: 4_000_183)
  /// Family transaction not supported.
  public static let familyTransactionNotSupported = AppStoreErrorCode(rawValue: 4_000_185)
  /// Transaction id is not original transaction id.
  public static let transactionIdIsNotOriginalTransactionId = AppStoreErrorCode(rawValue: 4_000_187)
  /// Subscription extension ineligible.
  public static let subscriptionExtensionIneligible = AppStoreErrorCode(rawValue: 4_030_004)
  /// Subscription max extension.
  public static let subscriptionMaxExtension = AppStoreErrorCode(rawValue: 4_030_005)
  /// Family shared subscription extension ineligible.
  public static let familySharedSubscriptionExtensionIneligible = AppStoreErrorCode(rawValue: 4_030_007)
  /// Account not found.
  public static let accountNotFound = AppStoreErrorCode(rawValue: 4_040_001)
  /// Account not found retryable.
  public static let accountNotFoundRetryable = AppStoreErrorCode(rawValue: 4_040_002)
  /// App not found.
  public static let appNotFound = AppStoreErrorCode(rawValue: 4_040_003)
  /// App not found retryable.
  public static let appNotFoundRetryable = AppStoreErrorCode(rawValue: 4_040_004)
  /// Original transaction id not found.
  public static let originalTransactionIdNotFound = AppStoreErrorCode(rawValue: 4_040_005)
  /// Original transaction id not found retryable.
  public static let originalTransactionIdNotFoundRetryable = AppStoreErrorCode(rawValue: 4_040_006)
  /// Server notification URL not found.
  public static let serverNotificationUrlNotFound = AppStoreErrorCode(rawValue: 4_040_007)
  /// Test notification not found.
  public static let testNotificationNotFound = AppStoreErrorCode(rawValue: 4_040_008)
  /// Status request not found.
  public static let statusRequestNotFound = AppStoreErrorCode(rawValue: 4_040_009)
  /// Transaction id not found.
  public static let transactionIdNotFound = AppStoreErrorCode(rawValue: 4_040_010)
  /// App transaction does not exist.
  public static let appTransactionDoesNotExist = AppStoreErrorCode(rawValue: 4_040_019)
  /// Rate limit exceeded.
  public static let rateLimitExceeded = AppStoreErrorCode(rawValue: 4_290_000)
  /// General internal.
  public static let generalInternal = AppStoreErrorCode(rawValue: 5_000_000)
  /// General internal retryable.
  public static let generalInternalRetryable = AppStoreErrorCode(rawValue: 5_000_001)

  /// Apple's names.
  static let names: [AppStoreErrorCode: String] = [
    .generalBadRequest: "GeneralBadRequestError",
    .invalidAppIdentifier: "InvalidAppIdentifierError",
    .invalidRequestRevision: "InvalidRequestRevisionError",
    .invalidTransactionId: "InvalidTransactionIdError",
    .invalidOriginalTransactionId: "InvalidOriginalTransactionIdError",
    .invalidExtendByDays: "InvalidExtendByDaysError",
    .invalidExtendReasonCode: "InvalidExtendReasonCodeError",
    .invalidRequestIdentifier: "InvalidRequestIdentifierError",
    .startDateTooFarInPast: "StartDateTooFarInPastError",
    .startDateAfterEndDate: "StartDateAfterEndDateError",
    .invalidPaginationToken: "InvalidPaginationTokenError",
    .invalidStartDate: "InvalidStartDateError",
    .invalidEndDate: "InvalidEndDateError",
    .paginationTokenExpired: "PaginationTokenExpiredError",
    .invalidNotificationType: "InvalidNotificationTypeError",
    .multipleFiltersSupplied: "MultipleFiltersSuppliedError",
    .invalidTestNotificationToken: "InvalidTestNotificationTokenError",
    .invalidSort: "InvalidSortError",
    .invalidProductType: "InvalidProductTypeError",
    .invalidProductId: "InvalidProductIdError",
    .invalidSubscriptionGroupIdentifier: "InvalidSubscriptionGroupIdentifierError",
    .invalidExcludeRevoked: "InvalidExcludeRevokedError",
    .invalidInAppOwnershipType: "InvalidInAppOwnershipTypeError",
    .invalidEmptyStorefrontCountryCodeList: "InvalidEmptyStorefrontCountryCodeListError",
    .invalidStorefrontCountryCode: "InvalidStorefrontCountryCodeError",
    .invalidRevoked: "InvalidRevokedError",
    .invalidStatus: "InvalidStatusError",
    .invalidAccountTenure: "InvalidAccountTenureError",
    .invalidAppAccountToken: "InvalidAppAccountTokenError",
    .invalidConsumptionStatus: "InvalidConsumptionStatusError",
    .invalidCustomerConsented: "InvalidCustomerConsentedError",
    .invalidDeliveryStatus: "InvalidDeliveryStatusError",
    .invalidLifetimeDollarsPurchased: "InvalidLifetimeDollarsPurchasedError",
    .invalidLifetimeDollarsRefunded: "InvalidLifetimeDollarsRefundedError",
    .invalidPlatform: "InvalidPlatformError",
    .invalidPlayTime: "InvalidPlayTimeError",
    .invalidSampleContentProvided: "InvalidSampleContentProvidedError",
    .invalidUserStatus: "InvalidUserStatusError",
    .invalidTransactionNotConsumable: "InvalidTransactionNotConsumableError",
    .invalidTransactionTypeNotSupported: "InvalidTransactionTypeNotSupportedError",
    .appTransactionIdNotSupported: "AppTransactionIdNotSupportedError",
    .invalidAppAccountTokenUUID: "InvalidAppAccountTokenUUIDError",
    .familyTransactionNotSupported: "FamilyTransactionNotSupportedError",
    .transactionIdIsNotOriginalTransactionId: "TransactionIdIsNotOriginalTransactionIdError",
    .subscriptionExtensionIneligible: "SubscriptionExtensionIneligibleError",
    .subscriptionMaxExtension: "SubscriptionMaxExtensionError",
    .familySharedSubscriptionExtensionIneligible: "FamilySharedSubscriptionExtensionIneligibleError",
    .accountNotFound: "AccountNotFoundError",
    .accountNotFoundRetryable: "AccountNotFoundRetryableError",
    .appNotFound: "AppNotFoundError",
    .appNotFoundRetryable: "AppNotFoundRetryableError",
    .originalTransactionIdNotFound: "OriginalTransactionIdNotFoundError",
    .originalTransactionIdNotFoundRetryable: "OriginalTransactionIdNotFoundRetryableError",
    .serverNotificationUrlNotFound: "ServerNotificationUrlNotFoundError",
    .testNotificationNotFound: "TestNotificationNotFoundError",
    .statusRequestNotFound: "StatusRequestNotFoundError",
    .transactionIdNotFound: "TransactionIdNotFoundError",
    .appTransactionDoesNotExist: "AppTransactionDoesNotExistError",
    .rateLimitExceeded: "RateLimitExceededError",
    .generalInternal: "GeneralInternalError",
    .generalInternalRetryable: "GeneralInternalRetryableError",
  ]
}
