import Formats

/// The kinds of data that the App Store signs, told apart by fields that only one kind has.
///
/// The same keys sign all four, so that without this check a transaction would pass as renewal information.
public enum SignedDataKind: String, CaseIterable, Sendable {
  /// One transaction.
  case transaction
  /// What will happen at the next renewal.
  case renewalInfo = "renewal-info"
  /// An App Store Server Notification.
  case notification
  /// A download of the app.
  case appTransaction = "app-transaction"

  /// The fields that tell this kind.
  private var ownFields: Set<ExactText> {
    switch self {
    case .transaction: ["transactionId", "purchaseDate"]
    case .renewalInfo: ["autoRenewStatus", "autoRenewProductId"]
    case .notification: ["notificationType", "notificationUUID"]
    case .appTransaction: ["receiptType", "receiptCreationDate"]
    }
  }

  /// Fields of other data that Apple signs, such as a request of its retention messages, and of no renewal information.
  private static let neverInRenewalInfo: Set<ExactText> = ["bundleId", "appAppleId", "requestIdentifier", "userLocale"]

  /// Returns whether a payload with these fields may be of this kind.
  ///
  /// A payload without any telling field, as in some test data of Apple, may be anything but renewal information that
  /// names an app. One telling field of its own is enough, so that a field that Apple adds to another kind later does
  /// not refuse every purchase.
  func admits(fields: Set<ExactText>) -> Bool {
    if !ownFields.isDisjoint(with: fields) { return true }
    if self == .renewalInfo, !Self.neverInRenewalInfo.isDisjoint(with: fields) { return false }
    return Self.allCases.allSatisfy { $0.ownFields.isDisjoint(with: fields) }
  }

  /// Returns the kind that the fields tell; what tells nothing is taken for a transaction when it names an app.
  static func detected(in fields: Set<ExactText>) -> SignedDataKind {
    let order: [SignedDataKind] = [.notification, .appTransaction, .transaction, .renewalInfo]
    if let kind = order.first(where: { !$0.ownFields.isDisjoint(with: fields) }) { return kind }
    return fields.contains("bundleId") ? .transaction : .renewalInfo
  }
}
