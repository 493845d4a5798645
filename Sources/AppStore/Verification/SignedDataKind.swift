import Formats

/// The kinds of data that the App Store signs. Fields that only one kind has tell them apart.
///
/// The same keys sign all four kinds. Without this check a transaction would pass as renewal information.
public enum SignedDataKind: String, CaseIterable, Sendable {
  /// One transaction.
  case transaction
  /// The renewal information of a subscription's next renewal.
  case renewalInfo = "renewal-info"
  /// An App Store Server Notification.
  case notification
  /// A download of the app.
  case appTransaction = "app-transaction"

  /// The fields that only this kind has.
  private var ownFields: Set<ExactText> {
    switch self {
    case .transaction: ["transactionId", "purchaseDate"]
    case .renewalInfo: ["autoRenewStatus", "autoRenewProductId"]
    case .notification: ["notificationType", "notificationUUID"]
    case .appTransaction: ["receiptType", "receiptCreationDate"]
    }
  }

  /// Fields that other data of Apple's has, such as a request of its retention messages, and renewal information never
  /// has.
  private static let neverInRenewalInfo: Set<ExactText> = ["bundleId", "appAppleId", "requestIdentifier", "userLocale"]

  /// Returns whether a payload with these fields may be of this kind.
  ///
  /// Some of Apple's test data has no field that tells its kind. Such a payload may be of any kind; but if it names an
  /// app, it is not renewal information. One field of its own kind is enough, so that a field that Apple later adds to
  /// another kind does not refuse every purchase.
  func admits(fields: Set<ExactText>) -> Bool {
    if !ownFields.isDisjoint(with: fields) { return true }
    if self == .renewalInfo, !Self.neverInRenewalInfo.isDisjoint(with: fields) { return false }
    return Self.allCases.allSatisfy { $0.ownFields.isDisjoint(with: fields) }
  }

  /// Returns the kind that the fields tell. Without such a field, a payload that names an app counts as a transaction.
  static func detected(in fields: Set<ExactText>) -> SignedDataKind {
    let order: [SignedDataKind] = [.notification, .appTransaction, .transaction, .renewalInfo]
    if let kind = order.first(where: { !$0.ownFields.isDisjoint(with: fields) }) { return kind }
    return fields.contains("bundleId") ? .transaction : .renewalInfo
  }
}
