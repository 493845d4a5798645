import Domain
import EventLoop
import Fleets
import Formats
import Ledger
import ServerSupport
import Testing

/// Purchases and customers as answers read them.
@Suite(.enabled(if: TestServers.current != nil, "\(TestServers.hint)"), .sharingServers)
@LoopActor
struct PurchaseReaderTests {
  private typealias Given = LedgerOfPurchases
  private func customer(_ id: CustomerId) -> CustomerKey { CustomerKey(publisherId: 7, id: id) }

  @Test func `what a customer holds, and in which version`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann")
      try await ledger.register("101", for: "ann", in: "Sandbox")
      try await ledger.register("102", for: "ann", product: "coins", kind: .consumable)
      try await ledger.register("103", for: "ben")
      let reader = Holdings(ledger.postgres)
      let found = try await reader.holdings(of: customer("ann"))
      #expect(found.isKnown && found.version == 1)
      #expect(found.purchases.map(\.key).sorted() == [Given.key("100"), Given.key("101", in: "Sandbox")])
      #expect(found.purchases.allSatisfy { $0.version == 1 && $0.owner?.customerId == "ann" })
      #expect(found.purchases.allSatisfy { $0.deciding.expiresDate == Given.now + 9 * Given.day })
      #expect(try await reader.holdings(of: customer("Ann")) == CustomerPurchases(isKnown: false))
      let stranger = CustomerKey(publisherId: 8, id: "ann")
      #expect(try await reader.holdings(of: stranger) == CustomerPurchases(isKnown: false))
      // One statement asks for all of a turn.
      let asked = [customer("ben"), stranger, customer("ann"), customer("ben")].map { customer in
        Task { @LoopActor in try await reader.holdings(of: customer).purchases.map(\.key.originalTransactionId).sorted()
        }
      }
      var answers: [[OriginalTransactionId]] = []
      for task in asked { answers.append(try await task.value) }
      #expect(answers == [["103"], [], ["100", "101"], ["103"]])
    }
  }

  @Test func `a customer without purchases, and one without a row`() async throws {
    try await Given.with { ledger in
      try await ledger.postgres.run("INSERT INTO customers (publisher_id, id, is_registered) VALUES (7, 'ann', true)")
      // Nothing was told about an expired purchase, so the customer has no row.
      try await ledger.register("100", for: "ben", endsIn: 0)
      let reader = Holdings(ledger.postgres)
      #expect(try await reader.holdings(of: customer("ann")) == CustomerPurchases(isKnown: true))
      let ben = try await reader.holdings(of: customer("ben"))
      #expect(ben.isKnown && ben.version == 0 && ben.purchases.map(\.key) == [Given.key("100")])
    }
  }

  @Test func `all purchases, page by page`() async throws {
    try await Given.with { ledger in
      for number in 1...5 {
        try await ledger.register("\(number)00", for: "ann", product: "coins", kind: .consumable)
      }
      try await ledger.register("100", for: "ann", transaction: "150", in: "Sandbox")
      let reader = PurchaseReader(ledger.postgres)
      var seen: [PurchaseKey] = []
      var place: PurchaseReader.Place?
      for _ in 1...4 {
        let page = try await reader.purchases(of: customer("ann"), after: place, limit: 2)
        #expect(page.isKnown)
        seen += page.purchases.map(\.key)
        guard let last = seen.last else { break }
        place = PurchaseReader.Place(
          environment: last.environment, originalTransactionId: last.originalTransactionId)
      }
      #expect(seen == (1...5).map { Given.key("\($0)00") } + [Given.key("100", in: "Sandbox")])
    }
  }

  @Test func `one purchase with its transactions and owners`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann")
      try await ledger.register("100", for: "ann", transaction: "101", endsIn: 39)
      try await ledger.register("100", for: "ben", transaction: "101", endsIn: 39, as: "move", .transfer)
      try await ledger.register("100", for: "cat", in: "Sandbox")
      try await ledger.register("200", for: "ann")
      let reader = PurchaseReader(ledger.postgres)
      let record = try #require(try await reader.purchase(7, "100", in: ["Production", "Sandbox"]))
      #expect(record.purchase.key == Given.key("100"))
      #expect(record.purchase.version == 3)
      #expect(record.purchase.owner?.customerId == "ben")
      #expect(record.purchase.transactions.keys.sorted() == ["100", "101"])
      #expect(record.purchase.deciding.transactionId == "101")
      #expect(record.ownerships.map(\.customerId) == ["ann", "ben"])
      #expect(record.ownerships.map(\.cause) == ["registration", "transfer"])
      #expect(record.ownerships.map(\.endedAt) == [Given.now, nil])
      #expect(record.ownerships.last?.subscriptionId == record.purchase.owner?.subscriptionId)
      let sandbox = try #require(try await reader.purchase(7, "100", in: ["Sandbox"]))
      #expect(sandbox.purchase.owner?.customerId == "cat" && sandbox.purchase.transactions.count == 1)
      #expect(sandbox.ownerships.map(\.customerId) == ["cat"])
      #expect(try await reader.purchase(7, "200", in: ["Sandbox"]) == nil)
      #expect(try await reader.purchase(8, "200", in: ["Production"]) == nil)
    }
  }
}
