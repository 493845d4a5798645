import Domain
import JSON

/// The app and the environment that a payload names as its origin.
struct PayloadOrigin: Hashable, Sendable {
  var bundleId: BundleId?
  var appAppleId: AppAppleId?
  var environment: Environment?
  /// Whether this kind of payload carries Apple's id of the app in production.
  var carriesAppAppleId = false
  /// Whether this kind of payload never names its app: renewal information.
  var namesNoApp = false
  /// Whether this kind of payload may be of production or sandbox without saying which: old receipts.
  var mayLackEnvironment = false
}

/// A payload that ``SignedDataVerifier`` can verify.
protocol SignedPayload: Sendable {
  /// Reads the payload's JSON.
  init(_ json: JSONText) throws
  static var kind: SignedDataKind { get }
  /// The date at which the verifier judges the chain, in milliseconds since 1970.
  var dateOfSigning: Int64? { get }
  var origin: PayloadOrigin { get }
  /// Whether the payload has a field that only this kind has; see ``SignedDataKind``.
  var hasOwnField: Bool { get }
}

extension SignedPayload where Self: Decodable {
  init(_ json: JSONText) throws { self = try json.decoded() }
}

extension TransactionPayload: SignedPayload {
  static let kind = SignedDataKind.transaction
  var hasOwnField: Bool { transactionId != nil || purchaseDate != nil }
  var dateOfSigning: Int64? { signedDate }
  var origin: PayloadOrigin { PayloadOrigin(bundleId: bundleId, environment: environment) }
}

extension RenewalInfoPayload: SignedPayload {
  static let kind = SignedDataKind.renewalInfo
  var hasOwnField: Bool { autoRenewStatus != nil || autoRenewProductId != nil }
  var dateOfSigning: Int64? { signedDate }
  var origin: PayloadOrigin { PayloadOrigin(environment: environment, namesNoApp: true) }
}

extension AppTransactionPayload: SignedPayload {
  static let kind = SignedDataKind.appTransaction
  var hasOwnField: Bool { receiptType != nil || receiptCreationDate != nil }
  var dateOfSigning: Int64? { receiptCreationDate }
  var origin: PayloadOrigin {
    PayloadOrigin(
      bundleId: bundleId, appAppleId: AppAppleId(appAppleId), environment: receiptType, carriesAppAppleId: true)
  }
}

extension NotificationPayload: SignedPayload {
  static let kind = SignedDataKind.notification
  var hasOwnField: Bool { notificationType != nil || notificationUUID != nil }
  var dateOfSigning: Int64? { signedDate }

  /// The origin that the first body names, in the order of Apple's libraries.
  var origin: PayloadOrigin {
    if let data {
      return PayloadOrigin(
        bundleId: data.bundleId, appAppleId: AppAppleId(data.appAppleId), environment: data.environment,
        carriesAppAppleId: true)
    }
    if let summary {
      return PayloadOrigin(
        bundleId: summary.bundleId, appAppleId: AppAppleId(summary.appAppleId), environment: summary.environment,
        carriesAppAppleId: true)
    }
    if let token = externalPurchaseToken {
      return PayloadOrigin(
        bundleId: token.bundleId, appAppleId: AppAppleId(token.appAppleId), environment: token.environment,
        carriesAppAppleId: true)
    }
    return PayloadOrigin(
      bundleId: appData?.bundleId, appAppleId: AppAppleId(appData?.appAppleId), environment: appData?.environment,
      carriesAppAppleId: true)
  }
}
