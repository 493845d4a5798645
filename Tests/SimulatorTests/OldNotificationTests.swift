import Formats
import JSON
import Testing

@testable import Simulator

/// Notifications of version 1.
struct OldNotificationTests {
  private func bodies(_ given: GivenLife, _ notice: LifeNotice) throws -> [[ExactText: JSONValue]] {
    let old = OldNotification(
      life: given.life, notice: notice, date: given.now, password: "secret", receipt: "cmVjZWlwdA==")
    return try old.bodies.map { body in
      guard case .object(let members) = try JSONText(body).decoded(as: JSONValue.self) else { return [:] }
      return members
    }
  }

  @Test(
    arguments: [
      ("SUBSCRIBED", "INITIAL_BUY", ["INITIAL_BUY"]), ("SUBSCRIBED", "RESUBSCRIBE", ["INTERACTIVE_RENEWAL"]),
      ("DID_RENEW", nil, ["DID_RENEW"]), ("DID_RENEW", "BILLING_RECOVERY", ["DID_RECOVER"]),
      ("DID_FAIL_TO_RENEW", nil, ["DID_FAIL_TO_RENEW"]), ("DID_FAIL_TO_RENEW", "GRACE_PERIOD", ["DID_FAIL_TO_RENEW"]),
      ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", ["DID_CHANGE_RENEWAL_PREF"]),
      ("DID_CHANGE_RENEWAL_PREF", "UPGRADE", ["CANCEL", "INTERACTIVE_RENEWAL"]),
      ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", ["DID_CHANGE_RENEWAL_STATUS"]), ("REFUND", nil, ["REFUND"]),
      ("REVOKE", nil, ["REVOKE"]), ("CONSUMPTION_REQUEST", nil, ["CONSUMPTION_REQUEST"]),
      ("PRICE_INCREASE", "PENDING", ["PRICE_INCREASE_CONSENT"]), ("PRICE_INCREASE", "ACCEPTED", []),
      ("EXPIRED", "VOLUNTARY", []), ("GRACE_PERIOD_EXPIRED", nil, []), ("REFUND_REVERSED", nil, []),
      ("ONE_TIME_CHARGE", nil, []), ("RENEWAL_EXTENDED", nil, []), ("TEST", nil, []),
    ] as [(String, String?, [String])])
  func types(type: String, subtype: String?, old: [String]) throws {
    let given = GivenLife()
    let notice = LifeNotice(type, subtype, given.life.id)
    let bodies = try bodies(given, notice)
    #expect(bodies.map { $0["notification_type"] } == old.map { .string($0) })
    for body in bodies {
      #expect(body["password"] == .string("secret") && body["environment"] == .string("PROD"))
      #expect(body["bid"] == .string("com.example.app") && body["auto_renew_status"] == .string("true"))
      #expect((body["auto_renew_status_change_date_ms"] != nil) == (type == "DID_CHANGE_RENEWAL_STATUS"))
      #expect((body["cancellation_date_ms"] != nil) == (body["notification_type"] == .string("CANCEL")))
    }
  }

  @Test func theReceiptHasEverything() throws {
    var given = GivenLife {
      $0.offer = .trial
      $0.environment = .sandbox
    }
    given.passes(2 * GivenLife.month)
    try given.does(.fail(grace: true, isAtEnd: false))
    try given.does(.refund(transactionId: given.life.transactions[0].id, percentage: 100_000, reason: 1))
    let body = try #require(try bodies(given, LifeNotice("REFUND", nil, given.life.id)).first)
    #expect(body["environment"] == .string("Sandbox"))
    guard case .object(let receipt) = body["unified_receipt"], case .array(let infos) = receipt["latest_receipt_info"],
      case .object(let newest) = infos.first, case .object(let oldest) = infos.last,
      case .array(let pending) = receipt["pending_renewal_info"], case .object(let renewal) = pending.first
    else { throw NoReceipt() }
    #expect(receipt["latest_receipt"] == .string("cmVjZWlwdA==") && receipt["status"] == .integer(0))
    #expect(infos.count == given.life.transactions.count && infos.count == 3)
    #expect(newest["transaction_id"] == .string(given.life.latest.id))
    #expect(newest["original_transaction_id"] == .string(given.life.id))
    #expect(oldest["is_trial_period"] == .string("true") && newest["is_trial_period"] == .string("false"))
    #expect(oldest["cancellation_date_ms"] == .string(String(given.now)))
    #expect(oldest["expires_date_ms"] == .string(String(GivenLife.start + 14_000)))
    #expect(renewal["is_in_billing_retry_period"] == .string("1"))
    #expect(renewal["grace_period_expires_date_ms"] == .string(String(given.now + 32_000)))
    #expect(OldNotification.date(1_790_000_000_123) == "2026-09-21 14:13:20 Etc/GMT")
  }

  private struct NoReceipt: Error {}
}
