public import Domain

/// A notification. The verifier checked its nested texts along with it.
///
/// Only the verifier makes one.
public struct VerifiedNotification: Sendable {
  /// The notification, with the bytes that Apple signed.
  public let signed: Verified<NotificationPayload>
  /// Apple's id of the notification. Apple sends it again with the same id, and other notifications never have it.
  public let uuid: NotificationUUID
  /// What happened, in Apple's words.
  public let kind: NotificationKind
  /// When Apple signed, in milliseconds since 1970.
  public let signedDate: Int64
  /// The app and the environment.
  public let origin: NotificationOrigin
  /// The transaction in it.
  public let transaction: Verified<TransactionPayload>?
  /// The renewal information in it, about the same purchase as the transaction.
  public let renewalInfo: Verified<RenewalInfoPayload>?
  /// The app transaction in it.
  public let appTransaction: Verified<AppTransactionPayload>?
  /// What it proves about a purchase: the transaction, then the renewal information.
  ///
  /// Apple's status is part of the renewal information's evidence. The notification's signature covers it; but it takes
  /// the date of the renewal information beside it, as the Server API's status does (decision 0021), and it can only
  /// take access away (decision 0006). So both ways to the same facts give the same purchase. Without renewal
  /// information, the status is ignored.
  public let evidence: [Evidence]
  /// Why a nested text is no evidence, although Apple signed it. Ask the Server API about the purchase instead.
  public let defects: [EvidenceDefect]

  /// The purchase that it is about, if any. The verifier has seen that both texts are about the same one.
  public var originalTransactionId: OriginalTransactionId? {
    transaction?.payload.originalTransactionId ?? renewalInfo?.payload.originalTransactionId
  }

  /// The notification as Apple wrote it.
  public var payload: NotificationPayload { signed.payload }

  init(
    _ signed: Verified<NotificationPayload>, origin: NotificationOrigin, nested: SignedDataVerifier.Nested
  ) throws(Rejection) {
    guard let type = signed.payload.notificationType, let uuid = signed.payload.notificationUUID,
      let date = signed.payload.signedDate
    else { throw Rejection(.malformed, "the notification has no type or no UUID") }
    let names = [type.rawValue, signed.payload.subtype?.rawValue ?? "-", uuid.text]
    guard names.allSatisfy({ (1...256).contains($0.utf8.count) && !$0.utf8.contains(0) }) else {
      throw Rejection(.malformed, "the notification's type, subtype or UUID is empty, too long, or has a NUL character")
    }
    self.signed = signed
    self.uuid = uuid
    kind = NotificationKind(type, signed.payload.subtype)
    signedDate = date
    self.origin = origin
    (transaction, renewalInfo, appTransaction) = (nested.transaction, nested.renewalInfo, nested.appTransaction)
    (evidence, defects) = Self.pieces(of: nested, status: signed.payload.data?.status)
  }

  private static func pieces(
    of nested: SignedDataVerifier.Nested, status: SubscriptionStatus?
  ) -> ([Evidence], [EvidenceDefect]) {
    var (evidence, defects): ([Evidence], [EvidenceDefect]) = ([], [])
    do throws(EvidenceDefect) {
      if let transaction = nested.transaction { evidence.append(try Evidence(transaction, source: .notification)) }
    } catch {
      // Renewal information alone gives no access, and a purchase without its transaction is none. So nothing of such a
      // notification is merged.
      return ([], [error])
    }
    do throws(EvidenceDefect) {
      if let renewalInfo = nested.renewalInfo {
        evidence.append(try Evidence(renewalInfo, status: status, source: .notification))
      }
    } catch {
      defects.append(error)
    }
    return (evidence, defects)
  }
}
