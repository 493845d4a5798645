import Domain
import Testing

@testable import AppStore
@testable import Gateway

/// The purchases of a verified receipt.
struct LocalEvidenceTests {
  private func entry(
    _ id: TransactionId?, _ original: OriginalTransactionId? = nil, product: ProductId? = "monthly", bought: Int64 = 0
  ) -> InAppReceipt {
    var entry = InAppReceipt()
    (entry.transactionId, entry.originalTransactionId) = (id, original)
    (entry.productId, entry.purchaseDate) = (product, bought)
    return entry
  }

  private func receipt(_ entries: [InAppReceipt], type: String? = "Production") -> AppReceipt {
    var receipt = AppReceipt(bundleId: "com.example", receiptCreationDate: 9)
    (receipt.receiptType, receipt.inApp) = (type, entries)
    return receipt
  }

  private func evidence(_ receipt: AppReceipt) throws -> LocalEvidence {
    try LocalEvidence(receipt, sha256: [1], publisherId: 7)
  }

  @Test func `each purchase stands once, with its latest transaction, the newest first`() throws {
    let found = try evidence(
      receipt([
        entry("1", "1", bought: 1), entry("9", bought: 2), entry("3", "1", bought: 3), entry("2", "1", bought: 2),
      ]))
    #expect(found.purchases.map(\.transactionId) == ["3", "9"])
    #expect(
      found.purchases[0].key == PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: "1"))
    #expect(found.purchases[0].transactionIds == ["1", "3", "2"])
    #expect(found.purchases[1].key.originalTransactionId == "9")
    #expect(found.createdAt == 9 && found.environment == "Production")
  }

  @Test(arguments: [("ProductionSandbox", "Sandbox"), ("ProductionVPP", "Production"), (nil, "Production")])
  func `the type tells the environment`(type: String?, expected: Environment) throws {
    #expect(try evidence(receipt([entry("1")], type: type)).environment == expected)
  }

  @Test func `a receipt without purchases has none`() throws {
    #expect(try evidence(receipt([])).purchases.isEmpty)
  }

  @Test func `a purchase without ids is refused`() {
    let bad = [entry(nil), entry("x"), entry("1", "y"), entry("1", product: nil)]
    for entry in bad {
      let refusal = #expect(throws: EvidenceRefusal.self) { try evidence(receipt([entry])) }
      guard case .rejected(let rejection, let sha256)? = refusal else {
        Issue.record("not rejected")
        continue
      }
      #expect(rejection.reason == .malformed && sha256 == [1])
    }
  }

  @Test func `a signed transaction is one purchase`() throws {
    var payload = TransactionPayload()
    (payload.transactionId, payload.originalTransactionId) = ("2", "1")
    (payload.environment, payload.productId, payload.bundleId) = (.sandbox, "monthly", "com.example")
    #expect(throws: EvidenceRefusal.self) { try LocalEvidence(payload, publisherId: 7) }
    payload.signedDate = 5
    let found = try LocalEvidence(payload, publisherId: 7)
    #expect(found.purchases.map(\.transactionId) == ["2"])
    #expect(found.environment == "Sandbox" && found.createdAt == 5)
    #expect(found.piece(of: found.purchases[0]) == nil)
  }

  // MARK: Access while Apple is away

  private func subscription(_ original: OriginalTransactionId?) -> InAppReceipt {
    var entry = entry("2", original, bought: 3)
    entry.expiresDate = 4
    return entry
  }

  @Test func `a subscription's period is evidence, dated by the receipt`() throws {
    let found = try evidence(receipt([subscription("1")]))
    let piece = try #require(found.piece(of: found.purchases[0]))
    guard case .transaction(let facts) = piece.facts else {
      Issue.record("no transaction")
      return
    }
    #expect(facts.originalTransactionId == "1" && facts.transactionId == "2" && facts.kind == .autoRenewable)
    #expect(facts.purchaseDate == 3 && facts.expiresDate == 4 && facts.signedDate == 9)
    #expect(piece.source == .receipt && piece.signature.isEmpty)
  }

  @Test func `a purchase that the receipt does not name exactly, or without an end, is none`() throws {
    let cases = [
      receipt([subscription(nil)]), receipt([subscription("1")], type: nil), receipt([entry("2", "1", bought: 3)]),
    ]
    for receipt in cases {
      let found = try evidence(receipt)
      #expect(found.purchases.count == 1)
      #expect(found.piece(of: found.purchases[0]) == nil)
    }
  }

  // MARK: The purchase that Apple names

  @Test func `the answer looks for the purchase that Apple named`() throws {
    // Without an original id, the evidence takes the transaction for the purchase. It may be a renewal.
    let purchase = try evidence(receipt([subscription(nil)], type: nil)).purchases[0]
    #expect(purchase.key.originalTransactionId == "2" && !purchase.isNamedBySigner)
    var result = SynchronizationResult(.purchaseSynchronized, accessGranted: true, offerId: "S1")
    (result.environment, result.originalTransactionId) = ("Sandbox", "1")
    let named = PurchaseKey(publisherId: 7, environment: "Sandbox", originalTransactionId: "1")
    #expect(DoorResult(purchase: purchase, state: .finalized(result)).key == named)
    #expect(DoorResult(purchase: purchase, state: .accepted).key == purchase.key)
    #expect(DoorResult(purchase: purchase, state: .failed("")).key == purchase.key)
    result.originalTransactionId = nil
    #expect(DoorResult(purchase: purchase, state: .finalized(result)).key == purchase.key)
  }
}
