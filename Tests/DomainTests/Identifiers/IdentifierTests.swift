import Domain
import FoundationEssentials
import JSON
import Testing

/// What holds for ids of every type.
struct IdentifierTests {
  /// Texts that Swift's `String` takes for equal: each pair has other bytes.
  private static let alike = [("K", "\u{212A}"), ("\u{e9}", "e\u{301}"), (";", "\u{37e}"), ("\u{c5}", "\u{212B}")]

  private func check<Id: Identifier>(_ type: Id.Type) throws {
    for (one, other) in Self.alike {
      #expect(one == other)
      #expect(Id(one) != Id(other) && Id(one) == Id(one) && Set([Id(one), Id(other)]).count == 2)
      #expect((Id(one) < Id(other)) != (Id(other) < Id(one)))
    }
    #expect(Id("ab") < Id("abc") && Id("") < Id("a") && Id("Z") < Id("a") && Id("7") != Id("07"))
    let id: Id = "2000000000000001"
    #expect("\(id)" == id.text && id.text == "2000000000000001")
    // In JSON it is a text, and as a key a member's name.
    let encoder = JSONEncoder()
    #expect(try encoder.encode([id]) == Data(#"["2000000000000001"]"#.utf8))
    #expect(try encoder.encode([id: 1]) == Data(#"{"2000000000000001":1}"#.utf8))
    #expect(try JSONDecoder().decode([Id].self, from: Data(#"["\u212a"]"#.utf8)) == [Id("\u{212A}")])
    #expect(try JSONDecoder().decode([Id: Int].self, from: Data(#"{"\u212a": 2}"#.utf8)) == [Id("\u{212A}"): 2])
    #expect(throws: DecodingError.self) { try JSONDecoder().decode([Id].self, from: Data("[1]".utf8)) }
    let written = JSONWriter.object { writer in
      writer.member("id", id)
      writer.member("none", Id?.none)
    }
    #expect(written == Array(#"{"id":"2000000000000001"}"#.utf8))
  }

  @Test func `ids compare by their bytes, and are plain texts for others`() throws {
    try check(TransactionId.self)
    try check(OriginalTransactionId.self)
    try check(CustomerId.self)
    try check(SynchronizationId.self)
    try check(RefundRequestId.self)
    try check(EventId.self)
    try check(EndpointId.self)
    try check(OfferId.self)
    try check(ProductId.self)
    try check(Environment.self)
    try check(BundleId.self)
  }

  @Test func `a purchase has the name of its first transaction`() {
    let first: TransactionId = "2000000000000001"
    let purchase = OriginalTransactionId(beginningWith: first)
    #expect(purchase == "2000000000000001" && purchase.firstTransaction == first)
  }
}
