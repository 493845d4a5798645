import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import Testing

/// What people note about customers, in the ledger.
@Suite(.enabled(if: TestServers.current != nil, "\(TestServers.hint)"), .sharingServers)
@LoopActor
struct CustomerNotesTests {
  private typealias Given = LedgerOfPurchases
  private static let ann = CustomerKey(publisherId: 7, id: "ann")

  private static func note(_ number: Int, _ text: String, about customer: CustomerKey = ann) -> CustomerNote {
    CustomerNote(
      id: NoteId(random: Array(repeating: UInt8(number), count: 16)), customer: customer, text: text, person: "ada",
      createdAt: Given.now + Int64(number))
  }

  private func lines(_ ledger: Given) async throws -> [String] {
    let end = ContinuousClock.now + .seconds(60)
    let reading = await ConsoleTimeline(ledger.postgres).moments(of: Self.ann, limit: 50, until: end) {
      Issue.record($0)
    }
    #expect(reading.missing.isEmpty)
    return reading.moments.filter { $0.kind == .note }.map { "\($0.at - Given.now) \($0.about ?? "") \($0.what)" }
  }

  @Test func `a note is kept once, with the person in the audit, and stands in the timeline`() async throws {
    try await Given.with { ledger in
      let notes = CustomerNotes(ledger.postgres)
      #expect(try await notes.add(Self.note(1, "nobody")) == .unknownCustomer)
      try await ledger.register("100", for: "ann")
      for _ in 1...2 { #expect(try await notes.add(Self.note(1, "called twice\nabout Friday")) == .kept) }
      #expect(try await notes.add(Self.note(2, "a second one")) == .kept)
      #expect(try await lines(ledger) == ["2 ada a second one", "1 ada called twice\nabout Friday"])
      let audit = "SELECT action || ' ' || actor || ' ' || subject || ' ' || convert_from(detail, 'UTF8') FROM audit"
      #expect(
        try await ledger.texts("\(audit) WHERE action = 'customer.noted'")
          == Array(repeating: "customer.noted operator:ada ann {}", count: 2))
    }
  }

  @Test func `an export has the notes, and an erasure takes them`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann")
      try await ledger.register("200", for: "ben")
      let notes = CustomerNotes(ledger.postgres)
      _ = try await notes.add(Self.note(1, "about ann"))
      let ben = CustomerKey(publisherId: 7, id: "ben")
      _ = try await notes.add(Self.note(1, "about ben", about: ben))
      let store = CustomerStore(ledger.postgres)
      let document = try #require(try await store.export(7, "ann", now: Given.now))
      let text = String(decoding: document, as: UTF8.self)
      #expect(text.contains("about ann") && !text.contains("about ben"))
      #expect(try await store.erase(7, "ann", by: "op", now: Given.now) != nil)
      #expect(try await ledger.texts("SELECT text FROM customer_notes") == ["about ben"])
      #expect(try await notes.add(Self.note(2, "too late")) == .unknownCustomer)
      #expect(try await ledger.texts("SELECT subject FROM audit WHERE action = 'customer.noted'").contains("ben"))
      #expect(try await !ledger.texts("SELECT subject FROM audit WHERE action = 'customer.noted'").contains("ann"))
    }
  }

  @Test func `a customer has a bounded number of notes`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann")
      _ = try await ledger.postgres.run(
        """
        INSERT INTO customer_notes (publisher_id, customer_id, id, text, person, created_at)
        SELECT 7, 'ann', number::text, 'x', 'ada', now() FROM generate_series(1, \(CustomerNotes.most)) AS n (number)
        """)
      #expect(try await CustomerNotes(ledger.postgres).add(Self.note(1, "one more")) == .full)
      #expect(try await ledger.number("SELECT count(*) FROM customer_notes") == CustomerNotes.most)
    }
  }
}
