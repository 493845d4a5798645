import Domain
import Formats
import JSON

/// A customer's purchase as Cleeng shows a subscription: in its webhooks and in its answers.
struct CleengSubscription: Sendable {
  /// The purchase.
  let purchase: Purchase
  /// The access that it gives the customer.
  let access: Access
  /// The customer.
  let customerId: CustomerId

  /// Looks at a purchase.
  ///
  /// - Parameter now: milliseconds since 1970.
  init(_ purchase: Purchase, of customerId: CustomerId, publisher: Publisher, now: Int64) {
    self.purchase = purchase
    self.customerId = customerId
    access = .of(purchase, rules: publisher.accessRules(for: customerId, owning: [purchase]), now: now)
  }

  /// When the access ends, or has ended, in milliseconds since 1970; `nil` if there is no end or it is not known.
  ///
  /// In the grace period it is the end of the *period*, which has passed: Cleeng's clients decide by `accessGranted`.
  var expiresAt: Int64? { access.paidUntil(purchase) }

  /// Cleeng's word for the kind of the offer.
  var offerType: String {
    switch purchase.deciding.kind {
    case .autoRenewable: "subscription"
    case .nonRenewing: "pass"
    case .nonConsumable: "single"
    case .consumable: "consumable"
    }
  }

  /// Whether the customer uses the subscription without having paid.
  var isInTrial: Bool { access.isGranted && purchase.deciding.isTrial }

  /// Writes `inAppSpecificData`: what Apple calls the purchase.
  ///
  /// - Parameter transactionId: the transaction that the message is about; `nil` names the one that decides.
  func writeAppleData(to writer: inout JSONWriter, transactionId: TransactionId? = nil) {
    writer.member("inAppSpecificData") { data in
      data.member("environment", purchase.key.environment)
      data.member("originalTransactionId", purchase.key.originalTransactionId)
      data.member("productId", purchase.deciding.productId)
      data.member("transactionId", transactionId ?? purchase.deciding.transactionId)
    }
  }
}

extension JSONWriter {
  /// Writes a customer's id as Cleeng does: as a number where the text is one, else as the text.
  mutating func cleengId(_ name: StaticString, _ customerId: CustomerId?) {
    guard let customerId else { return }
    if let number = customerId.number { member(name, number) } else { member(name, customerId) }
  }
}
