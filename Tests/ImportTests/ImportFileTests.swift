import Domain
import Import
import Testing

struct ImportFileTests {
  private func read(_ text: String, _ preset: ImportPreset = .plain) -> ImportFile {
    ImportFile(Array(text.utf8), preset: preset)
  }

  private func row(_ line: Int, _ customer: CustomerId, _ transaction: TransactionId) -> ImportRow {
    ImportRow(line: line, customerId: customer, transactionId: transaction)
  }

  @Test func `CSV with quotes, CRLF, a byte order mark and empty lines`() {
    let file = read(
      "\u{feff}customer_id,transaction_id,offer\r\n\r\n\"a, \"\"b\"\"\",1,\r\n\"two\nlines\",2,\"S\"\r\nc,3,\n")
    #expect(file.problems.map(\.line) == [4])
    #expect(file.problems.first?.cause == "the customer's id cannot be used")
    #expect(file.rows == [row(3, #"a, "b""#, "1"), row(6, "c", "3")])
  }

  @Test func `JSON lines with ids as texts and as numbers`() {
    let file = read(
      #"{"customer_id":"a","transaction_id":"1","offer":"S","purchased_at":"2026-01-02T03:04:05Z","vendor_id":"v"}"#
        + "\n\n" + #"{"customer_id":42,"original_transaction_id":2000000000000001,"expires_at":1767323045000}"# + "\n")
    #expect(file.problems == [])
    #expect(
      file.rows == [
        ImportRow(
          line: 1, customerId: "a", transactionId: "1",
          claim: ImportRow.Claim(offerId: "S", purchasedAt: 1_767_323_045_000, vendorId: "v")),
        ImportRow(
          line: 3, customerId: "42", transactionId: "2000000000000001",
          claim: ImportRow.Claim(expiresAt: 1_767_323_045_000)),
      ])
  }

  @Test(arguments: [
    (",1,,,", 2, "names no customer"),
    ("a,,,,", 2, "names no transaction"),
    ("a,1,2,,", 2, "names a transaction and an original one"),
    ("a,1e9,,,", 2, "the transaction's id is not 1 to 32 digits"),
    ("a,,,x.y.z,", 2, "has only a signed transaction or a receipt, which an import cannot read yet"),
    ("a,1,,,yesterday", 2, "a time cannot be read"),
    ("a,1,,", 2, "has 4 fields, and the first line has 5"),
    ("a,1,,,\nb,1,,,", 3, "gives transaction 1 to another customer than line 2"),
    ("a,1,,,\n\"b", 3, "a field begins with a quote, and no quote ends it"),
    ("a,1\"2,,,", 2, "a quote stands inside a field that has none around it"),
    ("\"a\"b,1,,,", 2, "something stands behind the quote that ends a field"),
  ])
  func `a wrong row has its line and its cause`(rows: String, line: Int, cause: String) {
    let file = read("customer_id,transaction_id,original_transaction_id,signed_transaction,purchased_at\n" + rows)
    #expect(file.problems.map(\.line) == [line])
    #expect(file.problems.map(\.cause) == [cause])
    #expect(file.problems.allSatisfy { !$0.remedy.isEmpty })
  }

  @Test func `a wrong line of JSON does not hide the others`() {
    let file = read(#"{"customer_id":"a","transaction_id":"1"}"# + "\n[]\n" + #"{"customer_id":["b"],"x":1}"#)
    #expect(file.rows == [row(1, "a", "1")])
    #expect(file.problems.map(\.line) == [2, 3])
  }

  @Test func `a file without the columns, and an empty one, are refused`() {
    #expect(read("customer_id;transaction_id\na;1").problems.map(\.cause) == ["there is no column customer_id"])
    #expect(
      read("customer_id,id\na,1").problems.map(\.cause)
        == ["there is no column transaction_id or original_transaction_id"])
    #expect(read("").problems.map(\.cause) == ["the file has no rows"])
    #expect(read("customer_id,transaction_id\n").problems.map(\.cause) == ["the file has no rows"])
  }

  @Test func `RevenueCat's rows of one subscription are one purchase, and other stores do not count`() {
    let file = read(
      """
      rc_original_app_user_id,store,store_transaction_id,original_store_transaction_id,start_time,effective_end_time
      u1,app_store,12,11,2026-01-02 03:04:05.123,2026-02-02 03:04:05
      u1,app_store,13,11,2026-02-02 03:04:05,
      u2,play_store,GPA.1234,GPA.1,2026-02-02 03:04:05,
      u3,app_store,14,,2026-02-02,

      """, .revenuecat)
    #expect(file.problems == [])
    #expect((file.otherStores, file.repeated) == (1, 1))
    #expect(file.rows.map(\.transactionId) == ["11", "14"])
    #expect(file.rows.map(\.claim.purchasedAt) == [1_767_323_045_123, 1_769_990_400_000])
    #expect(file.rows.map(\.claim.expiresAt) == [1_770_001_445_000, nil])
  }

  @Test func `iaptic's ids lose their prefix, and Cleeng's rows keep their offer`() {
    let iaptic = read(
      #"{"applicationUsername":"u","platform":"apple","purchaseId":"apple:11","transactionId":"apple:12"}"#, .iaptic)
    #expect(iaptic.rows == [row(1, "u", "11")] && iaptic.problems == [])
    let cleeng = read("customerId,offerId,originalTransactionId,subscriptionId\n7,S1_US,11,s9", .cleeng)
    #expect(
      cleeng.rows == [
        ImportRow(
          line: 2, customerId: "7", transactionId: "11", claim: ImportRow.Claim(offerId: "S1_US", vendorId: "s9"))
      ])
  }

  @Test func `a row has the same id in every file, and another one in another round`() {
    let (one, same) = (row(2, "a", "1"), row(9, "a", "1"))
    #expect(one.synchronizationId(round: 1) == same.synchronizationId(round: 1))
    #expect(one.synchronizationId(round: 1) != same.synchronizationId(round: 2))
    // The parts of a name do not run into each other.
    #expect(row(2, "a 1", "1").synchronizationId(round: 1) != row(2, "a", "11").synchronizationId(round: 1))
    #expect(SynchronizationId.isValid(one.synchronizationId(round: 1000).text))
  }

  @Test func `a plan keeps to its share of each endpoint's budget`() {
    let plan = ImportPlan(rows: 1_000_000, callsPerSecond: 50, share: 0.3)
    #expect(plan.rowsPerSecond == 15)
    #expect((plan.fewestCalls, plan.mostCalls, plan.seconds) == (1_000_000, 2_000_000, 66667))
    #expect(ImportPlan(rows: 0, callsPerSecond: 50, share: 1).seconds == 0)
  }
}
