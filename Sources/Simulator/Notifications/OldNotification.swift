import Formats
import JSON

/// Notifications of version 1: plain JSON with the shared secret in it, and nothing signed.
struct OldNotification {
  var life: Life
  var notice: LifeNotice
  /// UNIX milliseconds.
  var date: Int64
  var password: String?
  /// The app receipt in base64.
  var receipt: String?

  /// The types of version 1 that tell a change, in the order of posting. Version 1 has no word for many changes.
  static func types(of notice: LifeNotice) -> [String] {
    switch (notice.type, notice.subtype) {
    case ("SUBSCRIBED", "RESUBSCRIBE"): ["INTERACTIVE_RENEWAL"]
    case ("SUBSCRIBED", _): ["INITIAL_BUY"]
    case ("DID_RENEW", "BILLING_RECOVERY"): ["DID_RECOVER"]
    case ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"): ["CANCEL", "INTERACTIVE_RENEWAL"]
    case ("PRICE_INCREASE", "PENDING"): ["PRICE_INCREASE_CONSENT"]
    case ("DID_RENEW", _), ("DID_CHANGE_RENEWAL_PREF", _), ("DID_CHANGE_RENEWAL_STATUS", _),
      ("DID_FAIL_TO_RENEW", _), ("REFUND", _), ("REVOKE", _), ("CONSUMPTION_REQUEST", _):
      [notice.type]
    default: []
    }
  }

  /// The bodies to post.
  var bodies: [[UInt8]] { Self.types(of: notice).map(body) }

  private func body(_ type: String) -> [UInt8] {
    JSONWriter.object { json in
      json.member("notification_type", type)
      json.member("environment", environment == .production ? "PROD" : "Sandbox")
      json.member("password", password)
      json.member("bid", life.terms.bundleId.text)
      json.member("bvrs", "1")
      json.member("original_transaction_id", life.id)
      if life.isSubscription {
        json.member("auto_renew_product_id", life.next.productId)
        json.member("auto_renew_status", life.willRenew ? "true" : "false")
        json.member("auto_renew_adam_id", String(life.terms.appAppleId))
      }
      if type == "DID_CHANGE_RENEWAL_STATUS" {
        json.member("auto_renew_status_change_date", Self.date(date))
        json.member("auto_renew_status_change_date_ms", String(date))
      }
      if type == "CANCEL" {
        json.member("cancellation_date", Self.date(date))
        json.member("cancellation_date_ms", String(date))
      }
      json.member("unified_receipt") { unified in
        unified.member("environment", environment.name)
        unified.member("status", Int64(0))
        unified.member("latest_receipt", receipt)
        // Newest first, and a hundred at most.
        unified.member("latest_receipt_info", life.transactions.reversed().prefix(100), write)
        unified.member("pending_renewal_info", life.isSubscription ? [life] : [], writePending)
      }
    }
  }

  private var environment: StoreEnvironment { life.terms.environment }

  private func write(_ transaction: LifeTransaction, _ json: inout JSONWriter) {
    json.member("quantity", "1")
    json.member("product_id", transaction.productId)
    json.member("transaction_id", transaction.id)
    json.member("original_transaction_id", life.id)
    json.member("purchase_date", Self.date(transaction.purchaseDate))
    json.member("purchase_date_ms", String(transaction.purchaseDate))
    json.member("original_purchase_date", Self.date(life.transactions[0].purchaseDate))
    json.member("original_purchase_date_ms", String(life.transactions[0].purchaseDate))
    json.member("expires_date", transaction.expiresDate.map(Self.date))
    json.member("expires_date_ms", transaction.expiresDate.map { String($0) })
    json.member("in_app_ownership_type", life.terms.isFamilyShared ? "FAMILY_SHARED" : "PURCHASED")
    if life.isSubscription {
      let isIntroductory = transaction.offer?.type == 1
      let isTrial = isIntroductory && transaction.offer?.isFree == true
      json.member("web_order_line_item_id", "2\(transaction.id)")
      json.member("is_trial_period", isTrial ? "true" : "false")
      json.member("is_in_intro_offer_period", isIntroductory && !isTrial ? "true" : "false")
      json.member("subscription_group_identifier", "20950511")
    }
    json.member("is_upgraded", transaction.isUpgraded ? "true" : nil)
    json.member("app_account_token", life.terms.appAccountToken)
    if let revocation = transaction.revocation {
      json.member("cancellation_date", Self.date(revocation.date))
      json.member("cancellation_date_ms", String(revocation.date))
      json.member("cancellation_reason", String(revocation.reason))
    }
  }

  private func writePending(_ life: Life, _ json: inout JSONWriter) {
    json.member("original_transaction_id", life.id)
    json.member("product_id", life.latest.productId)
    json.member("auto_renew_product_id", life.next.productId)
    json.member("auto_renew_status", life.willRenew ? "1" : "0")
    json.member("expiration_intent", life.expirationIntent.map { String($0) })
    if life.state == .grace || life.state == .billingRetry { json.member("is_in_billing_retry_period", "1") }
    json.member("grace_period_expires_date", life.graceUntil.map(Self.date))
    json.member("grace_period_expires_date_ms", life.graceUntil.map { String($0) })
  }

  /// A date as version 1 writes it: `2026-11-23 10:00:00 Etc/GMT`.
  static func date(_ milliseconds: Int64) -> String {
    let text = rfc3339(milliseconds: milliseconds)
    return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) Etc/GMT"
  }
}
