/// Apple's types of notifications with their subtypes. Where Apple's pages contradict each other, both spellings count.
enum NotificationNames {
  static let subtypes: [String: Set<String>] = [
    "SUBSCRIBED": ["INITIAL_BUY", "RESUBSCRIBE"],
    "DID_CHANGE_RENEWAL_PREF": ["UPGRADE", "DOWNGRADE"],
    "DID_CHANGE_RENEWAL_STATUS": ["AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED"],
    "OFFER_REDEEMED": ["UPGRADE", "DOWNGRADE", "INITIAL_BUY", "RESUBSCRIBE"],
    "DID_RENEW": ["BILLING_RECOVERY"],
    "EXPIRED": ["VOLUNTARY", "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE"],
    "DID_FAIL_TO_RENEW": ["GRACE_PERIOD"],
    "GRACE_PERIOD_EXPIRED": [],
    "PRICE_INCREASE": ["PENDING", "ACCEPTED"],
    "PRICE_CHANGE": [],
    "REFUND": [],
    "REFUND_DECLINED": [],
    "REFUND_REVERSED": [],
    "CONSUMPTION_REQUEST": [],
    "RENEWAL_EXTENDED": [],
    "RENEWAL_EXTENSION": ["SUMMARY", "SUCCESS", "FAILURE"],
    "REVOKE": [],
    "TEST": [],
    "EXTERNAL_PURCHASE_TOKEN": ["UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER"],
    "ONE_TIME_CHARGE": [],
    "RESCIND_CONSENT": [],
    "METADATA_UPDATE": [],
    "MIGRATION": [],
    "MIGRATE": [],
  ]
}
