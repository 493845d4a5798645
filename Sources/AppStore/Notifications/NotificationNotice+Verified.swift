public import Domain

extension NotificationNotice {
  /// Takes the notice out of a verified notification; `nil` if it is none, or lacks what the publisher must know.
  public init?(_ notification: VerifiedNotification, of publisherId: PublisherId) {
    let kind: Kind
    switch notification.kind.reason {
    case .consentRescinded:
      let id = Self.id(notification.appTransaction?.payload.appTransactionId?.text)
      kind = .consentRescinded(appTransactionId: id.map { AppTransactionId($0) })
    case .tokenDue:
      guard let token = notification.payload.externalPurchaseToken, let id = Self.id(token.externalPurchaseId) else {
        return nil
      }
      kind = .tokenDue(
        Token(
          id: id, type: Self.id(token.tokenType?.rawValue), createdAt: token.tokenCreationDate,
          expiresAt: token.tokenExpirationDate))
    default: return nil
    }
    self.init(
      publisherId: publisherId, uuid: notification.uuid, subtype: notification.kind.subtype?.rawValue,
      environment: notification.origin.environment, bundleId: notification.origin.bundleId,
      signedDate: notification.signedDate, kind: kind)
  }

  /// PostgreSQL keeps no NUL in a text, and no id or name of Apple's is long.
  private static func id(_ text: String?) -> String? {
    text.flatMap { (1...256).contains($0.utf8.count) && !$0.utf8.contains(0) ? $0 : nil }
  }
}
