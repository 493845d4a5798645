import Domain
import Testing

@testable import AppStore
@testable import Gateway

/// The purchases of a verified receipt.
struct LocalEvidenceTests {
  private func entry(
    _ id: String?, _ original: String? = nil, product: String? = "monthly", bought: Int64 = 0
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
  func `the type tells the environment`(type: String?, expected: String) throws {
    #expect(try evidence(receipt([entry("1")], type: type)).environment == expected)
  }

  @Test func `a receipt without purchases has none`() throws {
    #expect(try evidence(receipt([])).purchases.isEmpty)
  }

  @Test func `a purchase without ids is refused`() {
    let bad = [entry(nil), entry("x"), entry("1", "y"), entry("1", product: nil)]
    for entry in bad {
      #expect(throws: EvidenceRefusal.self) { try evidence(receipt([entry])) }
    }
  }

  @Test func `a signed transaction is one purchase`() throws {
    var payload = TransactionPayload()
    (payload.transactionId, payload.originalTransactionId) = ("2", "1")
    (payload.environment, payload.productId, payload.bundleId) = (.sandbox, "monthly", "com.example")
    #expect(throws: EvidenceRefusal.self) { try LocalEvidence(payload, jws: "a.b.c", publisherId: 7) }
    payload.signedDate = 5
    let found = try LocalEvidence(payload, jws: "a.b.c", publisherId: 7)
    #expect(found.purchases.map(\.transactionId) == ["2"])
    #expect(found.environment == "Sandbox" && found.createdAt == 5)
  }
}
