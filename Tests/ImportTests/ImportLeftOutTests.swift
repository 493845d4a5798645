import Domain
import Testing

@testable import Import

/// The rows that are in a file and are not imported: the report has a line for each.
struct ImportLeftOutTests {
  private struct NoSignatures: ImportVerifier {
    func purchases(in text: ImportSignedText) throws(ImportRefusal) -> [ImportSignedPurchase] {
      throw ImportRefusal("the signed transaction is not accepted", "copy it whole")
    }
  }

  private func read(
    _ preset: ExportColumns, _ lines: [String], _ limits: ImportFile.Limits = ImportFile.Limits()
  ) -> ImportFile {
    var rest = lines[...]
    return ImportFile(preset: preset, verifier: NoSignatures(), limits: limits) {
      rest.popFirst().map { Array($0.utf8) }
    }
  }

  private func texts(_ file: ImportFile) -> [String] {
    (0..<file.leftOut.count).map { String(decoding: file.leftOut.text(at: $0), as: UTF8.self) }
  }

  @Test func `every row that is not imported has a line with its word`() {
    let file = read(
      .revenuecat,
      [
        "rc_original_app_user_id,store,store_transaction_id,original_store_transaction_id", "u1,app_store,12,11",
        "u2,play_store,GPA.1,GPA.1", "u1,app_store,13,11", ",app_store,14,14", "u3,app_store,11,11", "u4,app_store",
        "u5,mac_app_store,15,15",
      ])
    #expect(file.rows.map(\.line) == [2, 8])
    #expect(
      texts(file) == [
        #"{"line":3,"result":"otherStore"}"# + "\n",
        #"{"line":4,"result":"repeated","firstLine":2}"# + "\n",
        #"{"line":5,"result":"skipped","cause":"names no customer"}"# + "\n",
        #"{"line":6,"result":"skipped","cause":"gives the transaction of line 2 to another customer"}"# + "\n",
        #"{"line":7,"result":"skipped","cause":"has 2 fields, and the first line has 4"}"# + "\n",
      ])
    // Each line of the file is in one of the two lists.
    #expect(file.rows.count + file.leftOut.count == 7)
    #expect((file.otherStores, file.repeated, file.problemCount) == (1, 1, 3))
  }

  @Test func `JSON lines, and an export's purchases without an owner`() {
    let lines = read(.plain, [#"{"customer_id":"a","transaction_id":"1"}"#, "[]", #"{"customer_id":"a"}"#])
    #expect(lines.rows.count == 1)
    #expect((0..<lines.leftOut.count).map(lines.leftOut.line(at:)) == [2, 3])
    let export = read(
      .countersign,
      [
        #"{"kind":"export","format":1}"#, #"{"kind":"purchase","originalTransactionId":"1"}"#,
        #"{"kind":"purchase","originalTransactionId":"x","customerId":"a"}"#,
        #"{"kind":"purchase","originalTransactionId":"2","customerId":"a"}"#, #"{"kind":"end"}"#,
      ])
    #expect(
      texts(export) == [
        #"{"line":2,"result":"unowned"}"# + "\n",
        #"{"line":3,"result":"skipped","cause":"is not a line of an export"}"# + "\n",
      ])
  }

  @Test func `a file that cannot be used has the one line of its cause`() {
    let file = read(.plain, ["customer_id,transaction_id", "a,1", "a,1", "\u{0}"])
    #expect(file.rows.isEmpty && file.repeated == 0)
    #expect(texts(file) == [#"{"line":4,"result":"skipped","cause":"the line is not a text in UTF-8"}"# + "\n"])
  }

  @Test func `rows that are left out need little memory, and have a limit`() {
    let count = 20_000
    let lines = ["customer_id,transaction_id,verify"] + (0..<count).map { "a,x\($0),\(["", "apple"][$0 % 2])" }
    let file = read(.plain, lines, ImportFile.Limits(problems: 10))
    #expect(file.problems.count == 10 && file.leftOut.count == count)
    #expect(file.leftOut.byteCount < 13 * count)
    #expect(file.leftOut.why(at: count - 1) == .problem("the transaction's id is not 1 to 32 digits"))
    let most = file.leftOut.byteCount
    #expect(read(.plain, lines, ImportFile.Limits(bytes: most)).leftOut.count == count)
    // Nothing of the file is kept then.
    let tooMuch = read(.plain, lines, ImportFile.Limits(bytes: most - 1))
    #expect(tooMuch.leftOut.count == 1 && tooMuch.problems.map(\.line) == [count + 1])
    // Rows with too few fields, and lines that are no objects, count alike.
    let short = read(.plain, ["customer_id,transaction_id"] + (0..<100).map { _ in "a" }, ImportFile.Limits(bytes: 600))
    #expect(short.problems.count == 1 && short.leftOut.count == 1)
    let objects = read(.plain, ["{}"] + (0..<100).map { _ in "[]" }, ImportFile.Limits(bytes: 600))
    #expect(objects.problems.count == 1 && objects.leftOut.count == 1)
  }

  @Test func `so many causes are kept, and a further one says so`() {
    var leftOut = ImportLeftOut()
    for number in 0...ImportLeftOut.mostCauses { leftOut.append(number, .problem("cause \(number)")) }
    leftOut.append(5000, .problem("cause 7"))
    let last = ImportLeftOut.mostCauses
    #expect(leftOut.why(at: last - 1) == .problem("cause \(last - 1)"))
    #expect(leftOut.why(at: last) == .problem("cannot work; a dry run shows the cause"))
    #expect(leftOut.why(at: last + 1) == .problem("cause 7"))
  }
}
