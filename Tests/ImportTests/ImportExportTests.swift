import Domain
import Testing

@testable import Import

/// What an import takes from an export of Countersign.
struct ImportExportTests {
  private struct NoSignatures: ImportVerifier {
    func purchases(in text: ImportSignedText) throws(ImportRefusal) -> [ImportSignedPurchase] { [] }
  }

  private let begin = #"{"kind":"export","format":1,"publisherId":7,"moment":{"at":"2026-11-28T08:00:00.000Z"}}"#
  private let end = #"{"kind":"end","lines":{"audit":0}}"#

  private func read(_ lines: [String], offers: [OfferId]? = nil) -> ImportFile {
    var rest = lines[...]
    let offers = offers.map { OfferCatalog($0.map { Offer(id: $0, productIds: []) }) }
    return ImportFile(preset: .countersign, verifier: NoSignatures(), offers: offers) {
      rest.popFirst().map { Array($0.utf8) }
    }
  }

  private func purchase(_ id: String, _ owner: String? = nil) -> String {
    let customer = owner.map { #""customerId":"\#($0)","# } ?? ""
    return #"{"kind":"purchase","key":["Production","\#(id)"],"environment":"Production","#
      + #""originalTransactionId":"\#(id)",\#(customer)"version":3,"evidence":[{"kind":"transaction"}]}"#
  }

  private func grant(_ number: Int, _ more: String = "") -> String {
    let id = "00000000-0000-4000-8000-00000000000\(number)"
    return #"{"kind":"grant","key":["\#(id)"],"grantId":"\#(id)","createdAt":"2026-11-20T09:00:00.000Z","#
      + #""customerId":"ann","expiresAt":"2026-12-24T00:00:00.000Z","offerId":"S2","reason":"goodwill"\#(more)}"#
  }

  @Test func `the last line of a kind and key counts`() {
    let file = read([
      begin, purchase("1", "ann"), purchase("2", "bob"), purchase("3"), purchase("4"), grant(1, #","note":"a""#),
      grant(2), #"{"kind":"event","key":["1","2"],"body":{}}"#, #"{"kind":"resumed"}"#, purchase("1", "eve"),
      purchase("2"), purchase("4", "dan"), grant(2, #","withdrawnAt":"2026-11-21T09:00:00.000Z""#),
      grant(3, #","endedAt":"2026-11-21T09:00:00.000Z""#), #"{"kind":"caughtUp"}"#, #"{"kind":"later","x":[1]}"#, end,
    ])
    #expect(file.problems == [])
    #expect(
      Array(file.rows) == [
        ImportRow(line: 10, customerId: "eve", transactionId: "1"),
        ImportRow(line: 12, customerId: "dan", transactionId: "4"),
      ])
    #expect(file.exported.unowned == 2 && file.repeated == 0)
    let id: GrantId = "00000000-0000-4000-8000-000000000001"
    #expect(Array(file.exported.grants.keys) == [id])
    #expect(
      file.exported.grants[id]?.grant(of: 9)
        == Grant(
          id: id, customer: CustomerKey(publisherId: 9, id: "ann"), offerId: "S2", reason: .goodwill, note: "a",
          createdAt: 1_795_165_200_000, endsAt: 1_798_070_400_000))
    #expect(file.exported.grants[id]?.line == 6)
  }

  @Test func `customers whom the publisher has put are counted, and read again one by one`() {
    let put =
      #"{"kind":"customer","key":["ann"],"customerId":"ann","email":"ann@example.com","isRegistered":true,"#
      + #""appAccountToken":"1D1C5C8A-6A0E-4F0B-8C59-5F6F0A3B7E80","access":[]}"#
    let met = #"{"kind":"customer","key":["bob"],"customerId":"bob","isRegistered":false,"access":[]}"#
    let file = read([begin, put, met, end])
    #expect(file.exported.customers == 1 && file.problems == [] && file.rows.isEmpty)
    #expect(
      ImportFile.exportedCustomer(Array(put.utf8))
        == Customer(id: "ann", email: "ann@example.com", appAccountToken: "1d1c5c8a-6a0e-4f0b-8c59-5f6f0a3b7e80"))
    for other in [met, purchase("1", "ann"), #"{"kind":"customer""#] {
      #expect(ImportFile.exportedCustomer(Array(other.utf8)) == nil)
    }
  }

  @Test func `a wrong file has its cause`() {
    func causes(_ lines: [String]) -> [String] { read(lines).problems.map { "\($0.line) \($0.cause)" } }
    #expect(causes([]) == ["1 the file has no rows"])
    #expect(causes([purchase("1", "ann"), end]) == ["1 the file is not an export of Countersign"])
    #expect(causes(["customer_id,transaction_id", "a,1"]) == ["1 the file is not an export of Countersign"])
    #expect(causes([#"{"kind":"export","format":2}"#, end]) == ["1 the export has another format than 1"])
    #expect(causes([begin, purchase("1", "ann")]) == ["2 the export is not whole: it has no line end"])
    #expect(
      causes([begin, purchase("x", "ann"), "{", grant(1, #","reason":"x""#), purchase("2", ""), end])
        == [2, 3, 4, 5].map { "\($0) is not a line of an export" })
    #expect(read([begin, purchase("1", "ann"), "\u{0}"]).rows.isEmpty)
  }

  @Test func `what the ledger would refuse is refused before it`() {
    func customer(_ id: String, _ more: String = "") -> String {
      #"{"kind":"customer","customerId":"\#(id)","isRegistered":true,"access":[]\#(more)}"#
    }
    let long = String(repeating: "a", count: 501)
    let wrong = [
      customer(#"a\u0000"#), customer(""), customer("erased:x"), customer(#"a\nb"#), customer(long),
      customer("ann", #","email":"a\u0000@b""#), customer("ann", #","email":"\#(long)@b""#),
      grant(1, #","note":"\#(long)""#), grant(1, #","note":"\u0000""#), grant(1, #","note":"""#),
    ]
    let file = read([begin] + wrong + [end])
    #expect(file.problems.map(\.line) == Array(2...11))
    #expect(file.exported.customers == 0 && file.exported.grants.isEmpty)
    for line in wrong { #expect(ImportFile.exportedCustomer(Array(line.utf8)) == nil) }
  }

  @Test func `one customer has no crowd of grants, and keeps the first ones`() {
    func grant(_ number: Int) -> String {
      let id = "00000000-0000-4000-8000-00000000\(1000 + number)"
      return self.grant(1).replacing("00000000-0000-4000-8000-000000000001", with: id)
    }
    let most = (0..<1000).map(grant)
    #expect(read([begin] + most + [end]).exported.grants.count == 1000)
    let other = self.grant(2).replacing("ann", with: "bob")
    let crowded = read([begin] + most + [grant(1000), other, grant(1001), end])
    // Nobody can mend it in the file, so it stops no import.
    #expect(crowded.problems == [] && crowded.exported.grantsOverLimit == 2)
    #expect(crowded.exported.grants.values.map(\.line).sorted() == Array(2...1001) + [1003])
    #expect((0..<crowded.leftOut.count).map(crowded.leftOut.line(at:)) == [1002, 1004])
  }

  @Test func `grants of offers that the publisher lacks are problems, without a call`() {
    let lines = [
      begin, grant(2).replacing("\"S2\"", with: "\"gone\""), grant(1), grant(3).replacing("\"S2\"", with: "\"old\""),
      // The last line of a grant counts, and this one has ended.
      grant(2, #","endedAt":"2026-11-21T09:00:00.000Z""#).replacing("\"S2\"", with: "\"gone\""), end,
    ]
    let file = read(lines, offers: ["S1", "S2"])
    #expect(file.problems.map(\.line) == [4])
    #expect(file.problems.first?.cause == "is a grant of offer old, which the publisher's file does not have")
    #expect(file.exported.grants.values.map(\.line) == [3])
    #expect(read(lines).problems == [])
  }

  @Test func `sandbox access by hand is taken while it is in force`() throws {
    func access(_ customer: String, _ more: String = "") -> String {
      #"{"kind":"sandboxAccess","key":["\#(customer)"],"customerId":"\#(customer)","reason":"testing","#
        + #""setAt":"2026-11-20T09:00:00.000Z","until":"2026-12-24T00:00:00.000Z"\#(more)}"#
    }
    let ended = #","endedAt":"2026-11-21T09:00:00.000Z""#
    let file = read([
      begin, access("ann"), access("bob", #","note":"a""#), access("eve", ended), access("dan", ended),
      access("ann", ended),
      access("dan"), end,
    ])
    #expect(file.problems == [] && Set(file.exported.sandboxAccess.keys) == ["bob", "dan"])
    let bob = try #require(file.exported.sandboxAccess["bob"])
    #expect(bob.line == 3)
    #expect(
      bob.override(of: 9)
        == SandboxOverride(
          customer: CustomerKey(publisherId: 9, id: "bob"), endsAt: 1_798_070_400_000, reason: .testing, note: "a",
          setAt: 1_795_165_200_000))
    let long = String(repeating: "a", count: 501)
    let wrong = [
      access(""), access("a", #","note":"\#(long)""#), access("a", #","note":"\u0000""#),
      access("a").replacing("testing", with: "fun"), access("a").replacing("2026-12-24T", with: "soon"),
    ]
    let refused = read([begin] + wrong + [end])
    #expect(refused.problems.map(\.line) == Array(2...6) && refused.exported.sandboxAccess.isEmpty)
  }

  @Test func `a cause shows what no terminal obeys`() {
    let file = ImportFile(preset: .plain, verifier: NoSignatures()) { nil }
    #expect(file.problems.count == 1)
    let problem = ImportProblem(line: 1, "the column \u{1b}[2Ja\nline 2: b appears twice", "remove one")
    #expect(problem.cause == "the column \u{fffd}[2Ja\u{fffd}line 2: b appears twice")
  }
}
