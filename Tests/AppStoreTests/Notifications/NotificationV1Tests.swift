import Crypto
import Domain
import Formats
import Foundation
import JSON
import Testing

@testable import AppStore

/// Hints from notifications of version 1.
struct NotificationV1Tests {
  private static let secret = "0123456789abcdef0123456789abcdef"

  /// A body as Apple posts it, with what a test adds or replaces; `NSNull` takes a member out.
  private func body(_ type: String, _ changes: [String: any Sendable] = [:]) throws -> [UInt8] {
    let transaction = [
      "original_transaction_id": "1000000000000001", "transaction_id": "1000000000000009", "product_id": "monthly",
      "expires_date_ms": "1720000000000", "quantity": "1", "is_trial_period": "false",
    ]
    var body: [String: any Sendable] = [
      "notification_type": type, "environment": "PROD", "password": Self.secret, "bid": "com.example", "bvrs": "1.0",
      "auto_renew_status": "true", "auto_renew_adam_id": "1234", "auto_renew_product_id": "monthly",
      "unified_receipt": [
        "environment": "Production", "status": 0, "latest_receipt": "MII=", "latest_receipt_info": [transaction],
        "pending_renewal_info": [["auto_renew_status": "1", "original_transaction_id": "1000000000000001"]],
      ] as [String: any Sendable],
    ]
    for (key, value) in changes { body[key] = value }
    return Array(try JSONSerialization.data(withJSONObject: body.filter { !($0.value is NSNull) }))
  }

  private func hint(_ type: String = "DID_RENEW", _ changes: [String: any Sendable] = [:]) throws -> NotificationV1? {
    try sealed(type, changes)?.hint()
  }

  private func sealed(
    _ type: String = "DID_RENEW", _ changes: [String: any Sendable] = [:]
  ) throws -> SealedNotificationV1? {
    guard case .version1(let sealed) = try PostedNotification(body(type, changes)) else { return nil }
    return sealed
  }

  private func reason(_ changes: [String: any Sendable]) throws -> Rejection.Reason? {
    let error = #expect(throws: Rejection.self) { try sealed("DID_RENEW", changes)?.hint() }
    return error?.reason
  }

  /// The types of Cleeng's guide, then Apple's others. Each body has what Apple adds for the type.
  @Test(arguments: [
    ("CANCEL", ["cancellation_date_ms": "1720000000000", "web_order_line_item_id": "5"], NotificationTypeV1.cancel),
    (
      "DID_CHANGE_RENEWAL_STATUS",
      ["auto_renew_status": "false", "auto_renew_status_change_date_ms": "1720000000000"], .didChangeRenewalStatus
    ),
    ("DID_FAIL_TO_RENEW", ["expiration_intent": "2"], .didFailToRenew),
    ("DID_RECOVER", ["expiration_intent": "2"], .didRecover),
    ("DID_RENEW", [:], .didRenew),
    ("INTERACTIVE_RENEWAL", ["latest_receipt": "MII="], .interactiveRenewal),
    ("REFUND", ["cancellation_date_ms": "1720000000000"], .refund),
    ("DID_CHANGE_RENEWAL_PREF", ["auto_renew_product_id": "weekly"], .didChangeRenewalPref),
    ("INITIAL_BUY", [:], .initialBuy), ("REVOKE", [:], .revoke), ("PRICE_INCREASE_CONSENT", [:], .priceIncreaseConsent),
    ("CONSUMPTION_REQUEST", ["original_transaction_id": "1000000000000001"], .consumptionRequest),
  ])
  func `each type is a hint`(name: String, changes: [String: String], type: NotificationTypeV1) throws {
    let hint = try #require(try hint(name, changes))
    #expect(hint.type == type && hint.type.rawValue == name)
    #expect(hint.environment == .production && hint.bundleId == "com.example")
    #expect(hint.originalTransactionIds == ["1000000000000001"])
    #expect(try sealed(name, changes)?.passwordSHA256 == SHA256.hash(Array(Self.secret.utf8)))
  }

  @Test func `an unknown type is kept`() throws {
    #expect(try hint("RENEWAL_OF_LATE")?.type == NotificationTypeV1(rawValue: "RENEWAL_OF_LATE"))
  }

  @Test func `Apple's names of the environments`() throws {
    #expect(try hint("DID_RENEW", ["environment": "Sandbox"])?.environment == .sandbox)
    #expect(try hint("DID_RENEW", ["environment": "Production"])?.environment == .production)
    for other in ["Xcode", "LocalTesting", "prod"] {
      #expect(try reason(["environment": other]) == .environmentMismatch)
    }
    // An empty text is none.
    #expect(try reason(["environment": ""]) == .malformed)
    #expect(try reason(["environment": NSNull()]) == .malformed)
  }

  @Test func `the shared secret is compared by its digest`() throws {
    let sealed = try #require(try sealed())
    #expect(sealed.hasPassword(sha256: SHA256.hash(Array(Self.secret.utf8))))
    #expect(!sealed.hasPassword(sha256: SHA256.hash(Array("another".utf8))))
    #expect(!sealed.hasPassword(sha256: []))
    for missing in [NSNull(), "", 1] as [any Sendable] { #expect(try reason(["password": missing]) == .malformed) }
    let long = String(repeating: "a", count: SealedNotificationV1.longestPassword)
    #expect(try self.sealed("DID_RENEW", ["password": long]) != nil)
    #expect(try reason(["password": long + "a"]) == .malformed)
  }

  /// Nothing else of a body is looked at before its sender has shown the secret.
  @Test func `the secret is read from a body whose rest is wrong`() throws {
    let sealed = try sealed("DID RENEW", ["environment": 1, "bid": NSNull(), "unified_receipt": "MII="])
    #expect(sealed?.hasPassword(sha256: SHA256.hash(Array(Self.secret.utf8))) == true)
    let error = #expect(throws: Rejection.self) { try sealed?.hint() }
    #expect(error?.reason == .malformed)
  }

  /// The lists that held the loop for 140 and 215 ms.
  @Test func `a body with too many values is refused while it is scanned`() throws {
    let entries = Array(repeating: "{}", count: 240_000).joined(separator: ",")
    let escaped = (0..<110_000).map { "\"\\u0061\($0)\":1" }.joined(separator: ",")
    let cases = [
      (#"{"password":"a","unified_receipt":{"latest_receipt_info":[\#(entries)]}}"#, "more than 500 elements"),
      ("{\(escaped)}", "more than 128 members"),
      ("{\"a\":\(String(repeating: "[", count: 9))", "more than 8 levels"),
    ]
    for (body, reason) in cases {
      let error = #expect(throws: Rejection.self) { try PostedNotification(Array(body.utf8)) }
      #expect(error?.reason == .malformed && error?.text.contains(reason) == true)
    }
  }

  @Test func `as many transactions as Apple sends are read`() throws {
    var transaction = Dictionary(uniqueKeysWithValues: (0..<35).map { ("member_\($0)", "value") })
    let transactions = (1...100).map { number in
      transaction["original_transaction_id"] = String(number)
      return transaction
    }
    let receipt = ["latest_receipt_info": transactions, "pending_renewal_info": transactions]
    #expect(try hint("DID_RENEW", ["unified_receipt": receipt])?.originalTransactionIds.count == 100)
  }

  // MARK: Purchases

  @Test func `every purchase is named once, that of the event first`() throws {
    let receipt: [String: any Sendable] = [
      "latest_receipt_info": ["3", "2", "3", "1"].map { ["original_transaction_id": $0] },
      "pending_renewal_info": ["4", "1"].map { ["original_transaction_id": $0] },
    ]
    let hint = try hint(
      "DID_RENEW",
      [
        "original_transaction_id": 2, "unified_receipt": receipt,
        "latest_receipt_info": ["original_transaction_id": "5", "bid": "com.other"],
        "latest_expired_receipt_info": ["original_transaction_id": "6"],
      ])
    #expect(hint?.originalTransactionIds == ["2", "5", "6", "3", "1", "4"])
    #expect(hint?.bundleId == "com.example")
  }

  @Test func `what is no id is left out, and so are too many`() throws {
    let bad = ["", "-1", "1/2", "١", "abc", String(repeating: "1", count: 33)]
    let good = (1...150).map(String.init)
    let kept = good.prefix(NotificationV1.mostPurchases).map(OriginalTransactionId.init(_:))
    let receipt = ["latest_receipt_info": (bad + good).map { ["original_transaction_id": $0] }]
    #expect(try hint("DID_RENEW", ["unified_receipt": receipt])?.originalTransactionIds == kept)
    #expect(try hint("DID_RENEW", ["unified_receipt": NSNull()])?.originalTransactionIds == [])
    #expect(try hint("DID_RENEW", ["original_transaction_id": "abc"])?.originalTransactionIds == ["1000000000000001"])
    #expect(try reason(["original_transaction_id": String(repeating: "1", count: 33)]) == .malformed)
  }

  @Test func `an old body names its app beside the transaction`() throws {
    for place in ["latest_receipt_info", "latest_expired_receipt_info"] {
      let old = ["original_transaction_id": "7", "bid": "com.example.old"]
      let hint = try hint("DID_RENEW", ["bid": NSNull(), "unified_receipt": NSNull(), place: old])
      #expect(hint?.bundleId == "com.example.old" && hint?.originalTransactionIds == ["7"])
    }
    // Another form there is passed over.
    #expect(try hint("DID_RENEW", ["latest_receipt_info": "MII="])?.originalTransactionIds == ["1000000000000001"])
    #expect(try hint("DID_RENEW", ["latest_receipt_info": ["MII="]])?.bundleId == "com.example")
  }

  // MARK: Refused

  @Test func `a hint needs an app and a type`() throws {
    let long = String(repeating: "a", count: 256)
    for wrong in [NSNull(), "", 1, "com example", "com\n", "com\u{7f}", long] as [any Sendable] {
      #expect(try reason(["bid": wrong]) == .malformed)
    }
    for wrong in [NSNull(), "", 1, "DID RENEW", "é", "\"", long] as [any Sendable] {
      #expect(try reason(["notification_type": wrong]) == .malformed)
    }
    #expect(try reason(["unified_receipt": "MII="]) == .malformed)
  }

  @Test(arguments: ["", "x", "[]", "null", "1", #""text""#, "{}", #"{"signedPayload":1}"#, #"{"signedPayload":null}"#])
  func `a body of neither version`(text: String) {
    let error = #expect(throws: Rejection.self) { try PostedNotification(Array(text.utf8)) }
    #expect(error?.reason == .malformed)
  }

  @Test func `a signed text is version 2, whatever stands beside it`() throws {
    for body in [Array(#"{"signedPayload":"a.b.c"}"#.utf8), try body("DID_RENEW", ["signedPayload": "a.b.c"])] {
      guard case .version2("a.b.c") = try PostedNotification(body) else {
        Issue.record("not version 2")
        continue
      }
    }
    #expect(throws: Rejection.self) {
      try PostedNotification(Array(#"{"signedPayload":"a.b.c","signedPayload":"d.e.f"}"#.utf8))
    }
  }

  @Test func `a body of 2 MiB is read, a longer one is not`() throws {
    func body(_ length: Int) -> [UInt8] {
      let frame = #"{"signedPayload":""}"#.utf8.count
      return Array(#"{"signedPayload":"\#(String(repeating: "A", count: length - frame))"}"#.utf8)
    }
    #expect(PostedNotification.maxLength == 2 << 20)
    guard case .version2 = try PostedNotification(body(2 << 20)) else {
      Issue.record("not read")
      return
    }
    let error = #expect(throws: Rejection.self) { try PostedNotification(body(2 << 20 + 1)) }
    #expect(error == Rejection(.malformed, "longer than 2097152 bytes"))
  }
}
