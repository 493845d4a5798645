import Testing

@testable import Simulator

/// Get Transaction History about lives: filters and pages.
struct LifeHistoryTests {
  private func history(_ query: String) throws(StoreFailure) -> LifeHistory {
    try LifeHistory(
      query.split(separator: "&").map { item in
        let sides = item.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
        return StoreCall.QueryItem(name: sides[0], value: sides.count > 1 ? sides[1] : "")
      })
  }

  private func old() -> GivenLife {
    var given = GivenLife()
    given.passes(44 * GivenLife.month)
    return given
  }

  @Test(arguments: ["", "sort=DESCENDING"])
  func pagesCoverEverythingOnce(query: String) throws {
    let life = old().life
    #expect(life.transactions.count == 45)
    var (found, sizes): ([String], [Int]) = ([], [])
    var revision: Int64?
    while true {
      let more = revision.map { "\(query.isEmpty ? "" : query + "&")revision=\(life.id)_\($0)" } ?? query
      let page = try history(more).page(of: [life])
      found += page.items.map(\.transaction.id)
      sizes.append(page.items.count)
      revision = page.revision
      if !page.hasMore { break }
    }
    #expect(sizes == [20, 20, 5])
    #expect(found == (query.isEmpty ? life.transactions.map(\.id) : life.transactions.map(\.id).reversed()))
  }

  @Test func whatChangesComesAgain() throws {
    var given = old()
    let end = try history("revision=1_41").page(of: [given.life])
    #expect(end.items.count == 4 && !end.hasMore)
    let after = "revision=1_\(end.revision)"
    #expect(try history(after).page(of: [given.life]).items.isEmpty)
    #expect(try history(after).page(of: [given.life]).revision == end.revision)
    try given.does(.refund(transactionId: given.life.transactions[3].id, percentage: 100_000, reason: 0))
    let news = try history(after).page(of: [given.life])
    #expect(news.items.map(\.transaction.id) == [given.life.transactions[3].id])
  }

  @Test func filters() throws {
    var given = old()
    try given.does(.refund(transactionId: given.life.transactions[3].id, percentage: 100_000, reason: 0))
    let (start, month) = (GivenLife.start, GivenLife.month)
    func count(_ query: String) throws -> Int { try history(query).page(of: [given.life]).items.count }
    #expect(try count("startDate=\(start + month)&endDate=\(start + 3 * month)") == 2)
    #expect(try count("productId=com.example.app.yearly") == 0)
    #expect(try count("productId=com.example.app.yearly&productId=com.example.app.monthly") == 20)
    #expect(try count("productType=CONSUMABLE") == 0 && count("productType=AUTO_RENEWABLE") == 20)
    #expect(try count("subscriptionGroupIdentifier=20950511") == 20 && count("subscriptionGroupIdentifier=7") == 0)
    #expect(try count("inAppOwnershipType=FAMILY_SHARED") == 0 && count("inAppOwnershipType=PURCHASED") == 20)
    #expect(try count("revoked=true") == 1)
  }

  @Test(arguments: [
    ("revision=1", 4_000_005), ("revision=x_1", 4_000_005), ("revision=1_x", 4_000_005), ("startDate=x", 4_000_015),
    ("endDate=", 4_000_016), ("startDate=2&endDate=1", 4_000_013), ("sort=UP", 4_000_021),
    ("productType=PASS", 4_000_022), ("productId=", 4_000_023), ("subscriptionGroupIdentifier=x", 4_000_024),
    ("inAppOwnershipType=MINE", 4_000_026), ("revoked=1", 4_000_030), ("page=2", 4_000_000),
  ])
  func mistakes(query: String, code: Int) {
    #expect { try history(query) } throws: { ($0 as? StoreFailure)?.code == code }
  }
}
