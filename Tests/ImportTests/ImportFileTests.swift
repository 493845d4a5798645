import Domain
import Testing

@testable import Import

struct ImportFileTests {
  private func read(_ text: String, _ preset: ExportColumns = .plain) -> ImportFile {
    read(Array(text.utf8), preset)
  }

  private func read(_ bytes: [UInt8], _ preset: ExportColumns = .plain) -> ImportFile {
    ImportFile(preset: preset, verifier: Signatures(), read: lines(bytes))
  }

  /// Reads bytes line by line, from an offset on.
  private func lines(_ bytes: [UInt8], from offset: Int64 = 0) -> () -> [UInt8]? {
    var rest = bytes[Int(offset)...]
    return {
      guard !rest.isEmpty else { return nil }
      let line = rest.prefix { $0 != 0x0a }
      rest = rest.dropFirst(line.count + 1)
      return Array(line)
    }
  }

  /// Reads `LAST of FIRST` as a signed transaction that does not renew, and a receipt as many of them; an `~` renews.
  private struct Signatures: ImportVerifier {
    func purchases(in text: ImportSignedText) throws(ImportRefusal) -> [ImportSignedPurchase] {
      switch text {
      case .transaction("forged"): throw ImportRefusal("the signed transaction is not accepted", "copy it")
      case .transaction(let text): return [named(text, isEnough: !text.hasSuffix("~"))]
      case .receipt(let text): return text.split(separator: ";").map { named(String($0), isEnough: false) }
      }
    }

    private func named(_ text: String, isEnough: Bool) -> ImportSignedPurchase {
      let parts = text.split(separator: " ").map(String.init)
      return ImportSignedPurchase(
        first: TransactionId(parts[2]), transactions: [TransactionId(parts[0])], isEnough: isEnough)
    }
  }

  private func row(_ line: Int, _ customer: CustomerId, _ transaction: TransactionId) -> ImportRow {
    ImportRow(line: line, customerId: customer, transactionId: transaction)
  }

  @Test func `CSV with quotes, CRLF, a byte order mark and empty lines`() {
    let file = read(
      "\u{feff}customer_id,transaction_id,offer\r\n\r\n\"a, \"\"b\"\"\",1,\r\n\"two\nlines\",2,\"S\"\r\nc,3,\n")
    #expect(file.problems.map(\.line) == [4])
    #expect(file.problems.first?.cause == "the customer's id cannot be used")
    #expect(Array(file.rows) == [row(3, #"a, "b""#, "1"), row(6, "c", "3")])
  }

  @Test func `a record has a limit, however many lines its quotes take`() throws {
    func causes(_ text: String, limit: Int) -> [String] {
      var reader = CSVReader(ImportLines(lines(Array(text.utf8))), limit: limit)
      var read: [String] = []
      do throws(CSVReader.Stop) {
        while let record = try reader.next() { read.append(record.fields.joined(separator: "|")) }
      } catch {
        guard case .broken(let problem) = error else { return read + ["unusable"] }
        read.append("\(problem.line) \(problem.cause)")
      }
      return read
    }
    // A record that fits ends, and the next one has the whole limit again.
    #expect(causes("a,\"b\nc\"\nd,\"e\nf\"\n", limit: 8) == ["a|b\nc", "d|e\nf"])
    #expect(causes("a,\"b\nc\"\nd,\"e\nfg\"\n", limit: 8) == ["a|b\nc", "3 has more than 8 bytes"])
    #expect(causes("x\nabcdefgh", limit: 8) == ["x", "2 has more than 8 bytes"])
    // The rest of the file is not read: no quote ends this field.
    var asked = 0
    var reader = CSVReader(
      ImportLines {
        asked += 1
        return asked > 1000 ? nil : Array((asked == 1 ? "\"ab" : "abc").utf8)
      }, limit: 30)
    #expect(throws: CSVReader.Stop.self) { _ = try reader.next() }
    #expect(asked == 8 && CSVReader.mostBytes == 8 << 20)
  }

  @Test func `a record has at most so many fields`() {
    let most = (["customer_id", "transaction_id"] + (3...CSVReader.mostFields).map { "c\($0)" }).joined(separator: ",")
    let commas = String(repeating: ",", count: CSVReader.mostFields - 2)
    let file = read("\(most)\na,1\(commas)\nb,2\(commas),\nc,3\(commas)\n")
    #expect(Array(file.rows) == [row(2, "a", "1")])
    #expect(file.problems.map { "\($0.line) \($0.cause)" } == ["3 has more than 1000 fields"])
  }

  @Test func `texts that are kept have limits`() {
    func problems(_ offer: String, _ vendor: String) -> [String] {
      let file = read("customer_id,transaction_id,offer,vendor_id\na,1,\(offer),\(vendor)\n")
      #expect(file.rows.count == (file.problems.isEmpty ? 1 : 0))
      return file.problems.map { "\($0.line) \($0.cause)" }
    }
    for letter in ["x", "é", "\u{1f600}"] {
      let (most, more) = (String(repeating: letter, count: 256), String(repeating: letter, count: 257))
      #expect(problems(most, most) == [])
      #expect(problems(more, most) == ["2 the offer has more than 256 characters"])
      #expect(problems(most, more) == ["2 the vendor's id has more than 256 characters"])
    }
  }

  /// Each of them becomes a line of the report. A file of line feeds would make one of gigabytes.
  @Test func `the rows that are left out have a limit, too`() {
    func problems(_ count: Int) -> [String] {
      let text = "customer_id,transaction_id\n" + String(repeating: "x\n", count: count)
      let file = ImportFile(
        preset: .plain, verifier: Signatures(), limits: ImportFile.Limits(rows: 2), read: lines(Array(text.utf8)))
      return file.problems.map { "\($0.line) \($0.cause)" }
    }
    #expect(problems(2).count == 2)
    #expect(problems(5) == ["4 is the first one after 2 rows that are left out"])
  }

  @Test func `a file's rows have a limit in memory`() {
    func file(_ limit: Int, _ head: String, _ line: (Int) -> String, _ preset: ExportColumns) -> ImportFile {
      let text = head + "\n" + (1...20).map { line($0) + "\n" }.joined()
      return ImportFile(
        preset: preset, verifier: Signatures(), limits: ImportFile.Limits(bytes: limit),
        read: lines(Array(text.utf8)))
    }
    let row = { (number: Int) in "customer \(number),\(number)" }
    let most = file(.max, "customer_id,transaction_id", row, .plain).rows.byteCount
    #expect(file(most, "customer_id,transaction_id", row, .plain).rows.count == 20)
    let tooMuch = file(most - 1, "customer_id,transaction_id", row, .plain)
    #expect(tooMuch.rows.isEmpty)
    #expect(
      tooMuch.problems.map { "\($0.line) \($0.cause)" } == [
        "21 is the first one after \(most - 1) bytes of rows in memory"
      ])
    let grant = { (number: Int) in
      let id = "00000000-0000-4000-8000-0000000000\(10 + number)"
      return #"{"kind":"grant","grantId":"\#(id)","createdAt":"2026-11-20T09:00:00.000Z","customerId":"ann","#
        + #""expiresAt":"2026-12-24T00:00:00.000Z","offerId":"S2","reason":"goodwill","note":"why"}"#
    }
    let begin = #"{"kind":"export","format":1}"#
    let grants = file(.max, begin, grant, .countersign).exported
    #expect(grants.grants.count == 20 && grants.byteCount > 20 * 100)
    #expect(file(grants.byteCount, begin, grant, .countersign).exported.grants.count == 20)
    #expect(file(grants.byteCount - 1, begin, grant, .countersign).problems.map(\.line) == [21])
  }

  @Test func `JSON lines with ids as texts and as numbers`() {
    let file = read(
      #"{"customer_id":"a","transaction_id":"1","offer":"S","purchased_at":"2026-01-02T03:04:05Z","vendor_id":"v"}"#
        + "\n\n" + #"{"customer_id":42,"original_transaction_id":2000000000000001,"expires_at":1767323045000}"# + "\n")
    #expect(file.problems == [])
    #expect(
      Array(file.rows) == [
        ImportRow(
          line: 1, customerId: "a", transactionId: "1",
          claim: ClaimedPurchase(offerId: "S", purchasedAt: 1_767_323_045_000, vendorId: "v")),
        ImportRow(
          line: 3, customerId: "42", transactionId: "2000000000000001",
          claim: ClaimedPurchase(expiresAt: 1_767_323_045_000)),
      ])
  }

  @Test(arguments: [
    (",1,,,", 2, "names no customer"),
    ("a,,,,", 2, "names no transaction"),
    ("a,1,2,,", 2, "names a transaction and an original one"),
    ("a,1e9,,,", 2, "the transaction's id is not 1 to 32 digits"),
    ("a,,,forged,", 2, "the signed transaction is not accepted"),
    ("a,3,,1 of 1,", 2, "names another transaction than the one that Apple signed"),
    ("a,1,,,yesterday", 2, "a time cannot be read"),
    ("a,1,,", 2, "has 4 fields, and the first line has 5"),
    ("a,1,,,\nb,1,,,", 3, "gives transaction 1 to another customer than line 2"),
    ("a,1,,,\n\"b", 3, "a field begins with a quote, and no quote ends it"),
    ("a,1\"2,,,", 2, "a quote is inside a field that is not quoted"),
    ("\"a\"b,1,,,", 2, "there is text after the quote that ends a field"),
  ])
  func `a wrong row has its line and its cause`(rows: String, line: Int, cause: String) {
    let file = read("customer_id,transaction_id,original_transaction_id,signed_transaction,purchased_at\n" + rows)
    #expect(file.problems.map(\.line) == [line])
    #expect(file.problems.map(\.cause) == [cause])
    #expect(file.problems.allSatisfy { !$0.remedy.isEmpty })
  }

  @Test func `a signed transaction names its purchase, and a receipt all of its own`() {
    let file = read(
      """
      customer_id,transaction_id,signed_transaction,app_receipt,verify,offer
      a,,12 of 11,,,S1
      b,,,22 of 21;31 of 31,apple,
      c,41,,42 of 41;51 of 51,,
      d,,61 of 61,,signature,

      """)
    #expect(file.problems == [])
    #expect(
      Array(file.rows) == [
        ImportRow(line: 2, customerId: "a", transactionId: "11", claim: ClaimedPurchase(offerId: "S1")),
        row(3, "b", "21"), row(3, "b", "31"), row(4, "c", "41"),
        ImportRow(line: 5, customerId: "d", transactionId: "61", signedAt: 143),
      ])
  }

  @Test(arguments: [
    ("a,,1 of 1,2 of 2,", "has a signed transaction and a receipt"),
    ("a,,,,signature", "names no transaction"),
    ("a,1,,,signature", "has no signed transaction to verify"),
    ("a,,1 of 1,,perhaps", "the column verify has another word"),
    ("a,,1 of 1~,,signature", "is of a purchase that its signature cannot settle"),
    ("a,,,1 of 1,signature", "is of a purchase that its signature cannot settle"),
    ("a,,,;,", "the receipt has no purchases"),
  ])
  func `a row that Apple's signature cannot settle has its cause`(row: String, cause: String) {
    let file = read("customer_id,transaction_id,signed_transaction,app_receipt,verify\n" + row)
    #expect(file.rows.isEmpty && file.problems.map(\.cause) == [cause])
  }

  @Test(arguments: [
    "customer_id,signed_transaction,verify,offer\r\n\r\na,1 of 1,,\r\n"
      + "d,\"61 of 61\",signature,\"two\nlines\"\r\nb,2 of 2,,",
    "offer,customer_id,signed_transaction,verify\na,\"b\nc\",1 of 1,\n\"two\nlines\",d,\"61 of 61\",signature\n",
    #"{"customer_id":"a","transaction_id":"1"}"# + "\n\n"
      + #"{"customer_id":"d","signed_transaction":"61 of 61","verify":"signature"}"# + "\n",
    "\u{feff}" + #"{"customer_id":"c","signed_transaction":"61 of 61","verify":"signature"}"#,
  ])
  func `a signed transaction is read again where it stands`(text: String) throws {
    let bytes = Array(text.utf8)
    let file = read(bytes)
    let row = try #require(file.rows.first { $0.transactionId == "61" })
    let offset = try #require(row.signedAt)
    #expect(file.signedTransaction(lines(bytes, from: offset)) == "61 of 61")
    #expect(file.rows.allSatisfy { $0.transactionId == "61" || $0.signedAt == nil })
    // Somebody has cut the file meanwhile.
    #expect(file.signedTransaction(lines([])) == nil)
  }

  @Test func `a file of very many rows needs little memory, and nobody holds its text`() {
    let count = 20_000
    func customer(_ number: Int) -> String { "8f14e45f-ceea-467f-9a3d-\(100_000_000_000 + number)" }
    var (given, kept) = (0, 0)
    let file = ImportFile(preset: .plain, verifier: Signatures()) {
      given += 1
      if given == 1 { return Array("customer_id,transaction_id,purchased_at,expires_at,vendor_id,secret".utf8) }
      // Nobody needs the last column. Each tenth row repeats the one before.
      let number = given % 10 == 0 ? given - 1 : given
      kept += given % 10 == 0 ? 0 : 1
      let text = String(repeating: "x", count: 200)
      return given <= count
        ? Array("\(customer(number)),\(2_000_000_000_000_000 + number),2026-01-02,2026-02-02,,\(text)".utf8) : nil
    }
    #expect(file.rows.count == kept - 1 && file.repeated == count - 1 - file.rows.count && file.problems == [])
    #expect(file.rows.byteCount < 110 * file.rows.count)
    let last = file.rows[file.rows.count - 1]
    #expect(last.line == count - 1 && last.customerId.text == customer(count - 1))
    #expect(last.claim.expiresAt == 1_769_990_400_000)
  }

  @Test func `a wrong line of JSON does not hide the others`() {
    let file = read(#"{"customer_id":"a","transaction_id":"1"}"# + "\n[]\n" + #"{"customer_id":["b"],"x":1}"#)
    #expect(Array(file.rows) == [row(1, "a", "1")])
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

  @Test(
    arguments: [
      ([0x1f, 0x8b, 8], 1, "the file is compressed (gzip)"),
      ([0x50, 0x4b, 3, 4], 1, "the file is a spreadsheet or a zip archive"),
      ([0xff, 0xfe, 0x63, 0], 1, "the file is in UTF-16"),
      ([0xfe, 0xff, 0, 0x63], 1, "the file is in UTF-16"),
      (Array("[{}]".utf8), 1, "the file is one JSON array"),
      (Array("<html>".utf8), 1, "the file is HTML or XML"),
      (Array("customer_id,transaction_id\na,1\n".utf8) + [0xe9, 0x2c, 0x32], 3, "the line is not a text in UTF-8"),
      (Array("customer_id,transaction_id\na,\0".utf8), 2, "the line is not a text in UTF-8"),
      (Array("customer_id,transaction_id,customer_id\na,1,b".utf8), 1, "the column customer_id appears twice"),
    ] as [([UInt8], Int, String)])
  func `a file of another kind has one problem, and no row`(bytes: [UInt8], line: Int, cause: String) {
    for mark in [[], [0xef, 0xbb, 0xbf]] as [[UInt8]] {
      let file = read(mark + bytes)
      #expect(file.rows.isEmpty && file.problems.map(\.line) == [line] && file.problems.map(\.cause) == [cause])
      #expect(file.problems.allSatisfy { !$0.remedy.isEmpty })
    }
  }

  @Test func `RevenueCat's rows of one subscription are one purchase, and other stores do not count`() {
    let file = read(
      """
      rc_original_app_user_id,store,store_transaction_id,original_store_transaction_id,start_time,effective_end_time
      u1,app_store,12,11,2026-01-02 03:04:05.123,2026-02-02 03:04:05
      u1,app_store,13,11,2026-02-02 03:04:05,
      u2,play_store,GPA.1234,GPA.1,2026-02-02 03:04:05,
      u3,app_store,14,,2026-02-02,
      u3,app_store,14,,2026-03-02,2026-04-02

      """, .revenuecat)
    #expect(file.problems == [])
    #expect((file.otherStores, file.repeated) == (1, 2))
    #expect(file.rows.map(\.transactionId) == ["11", "14"])
    #expect(file.rows.map(\.claim.purchasedAt) == [1_767_323_045_123, 1_772_409_600_000])
    #expect(file.rows.map(\.claim.expiresAt) == [1_770_001_445_000, 1_775_088_000_000])
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

  @Test func `rows whose signatures are enough need no call, and no time`() {
    let file = read(
      """
      customer_id,transaction_id,signed_transaction,verify
      a,1,,
      b,,11 of 11,signature
      c,,21 of 21,apple
      d,,31 of 31,signature
      e,5,,

      """)
    let plan = ImportPlan(file, callsPerSecond: 2, share: 0.5)
    #expect((plan.rows, plan.signed, plan.fewestCalls, plan.mostCalls, plan.seconds) == (5, 2, 3, 6, 3))
    let alone = ImportPlan(rows: 7, signed: 7, callsPerSecond: 2, share: 0.5)
    #expect((alone.fewestCalls, alone.mostCalls, alone.seconds) == (0, 0, 0))
  }
}
