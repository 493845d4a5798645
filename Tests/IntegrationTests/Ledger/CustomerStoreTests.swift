import Domain
import EventLoop
import Fleets
import Formats
import JSON
import Ledger
import Postgres
import ServerSupport
import Testing

/// The customers of a publisher in a real ledger.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct CustomerStoreTests {
  private let token = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"

  private func with(_ body: @LoopActor (CustomerStore, PostgresClient) async throws -> Void) async throws {
    try await LedgerDatabase.migrated { ledger in try await body(CustomerStore(ledger), ledger) }
  }

  /// The actions of the audit log, the oldest first, each with its subject and its detail.
  private func audit(_ ledger: PostgresClient, _ publisher: PublisherId = 1) async throws -> [String] {
    try await AuditLog(ledger).entries(publisher, before: nil, limit: 100).entries.reversed().map { entry in
      let members = try JSONObject(JSONText(entry.json))
      let detail: JSONValue? = try members.value("detail")
      return try "\(members.requiredString("action")) \(members.requiredString("subject")) \(text(detail))"
    }
  }

  private func text(_ value: JSONValue?) -> String {
    guard case .object(let members) = value else { return "" }
    return members.map { name, value in "\(name.text)=\(value)" }.sorted().joined(separator: " ")
  }

  @Test func `a customer is put, read, found by its address, and each change is in the audit log`() async throws {
    try await with { (store, ledger) async throws in
      let first = Customer(id: "user/é|7", email: "Jo@Example.com", appAccountToken: AppAccountToken(token))
      #expect(try await store.customer(1, first.id) == nil)
      #expect(try await store.isRegistered(1, first.id) == false)
      #expect(try await store.put(1, first) == .created)
      #expect(try await store.customer(1, first.id) == first)
      #expect(try await store.isRegistered(1, first.id))
      // Another spelling of the same letters, and another publisher.
      #expect(try await store.customer(1, "user/e\u{301}|7") == nil)
      #expect(try await store.customer(2, first.id) == nil)
      for email in ["jo@example.com", "JO@EXAMPLE.COM", "Jo@Example.com"] {
        #expect(try await store.customer(1, email: email) == first)
        #expect(try await store.customer(2, email: email) == nil)
      }
      // Only the case of ASCII letters does not count.
      #expect(try await store.put(1, Customer(id: "b", email: "É@example.com")) == .created)
      #expect(try await store.customer(1, email: "é@EXAMPLE.com") == nil)
      #expect(try await store.customer(1, email: "É@EXAMPLE.com")?.id == "b")

      #expect(try await store.put(1, first) == .replaced)
      #expect(try await store.put(1, Customer(id: first.id)) == .replaced)
      #expect(try await store.customer(1, first.id) == Customer(id: first.id))
      let log = try await audit(ledger)
      #expect(log.count == 3)  // the same record again is no change
      #expect(log[0].hasPrefix("customer.put \(first.id) ") && log[0].contains("created=bool(true)"))
      #expect(log[0].contains("appAccountToken") && log[0].contains("email"))
      #expect(log[2].contains("created=bool(false)"))
      #expect(!log.joined().contains("example") && !log.joined().contains(token))
    }
  }

  @Test func `an address belongs to one customer of a publisher, also when two want it at once`() async throws {
    try await with { (store, ledger) async throws in
      #expect(try await store.put(1, Customer(id: "a", email: "x@y")) == .created)
      #expect(try await store.put(1, Customer(id: "b", email: "X@Y")) == .emailInUse)
      #expect(try await store.customer(1, "b") == nil)
      #expect(try await audit(ledger).count == 1)
      #expect(try await store.put(2, Customer(id: "b", email: "X@Y")) == .created)
      // Its owner may spell it in another way, and gives it free.
      #expect(try await store.put(1, Customer(id: "a", email: "X@y")) == .replaced)
      #expect(try await store.put(1, Customer(id: "a")) == .replaced)
      for round in 0..<20 {
        async let one = store.put(1, Customer(id: "c\(round)", email: "race\(round)@y"))
        async let other = store.put(1, Customer(id: "d\(round)", email: "RACE\(round)@y"))
        let answers = try await [one, other]
        #expect(answers.filter { $0 == .created }.count == 1 && answers.filter { $0 == .emailInUse }.count == 1)
      }
    }
  }

  @Test func `a customer that a registration brought is put later`() async throws {
    try await with { (store, ledger) async throws in
      try await ledger.execute("INSERT INTO customers (publisher_id, id, is_registered) VALUES (1, 'a', false)")
      #expect(try await store.customer(1, "a") == Customer(id: "a"))
      #expect(try await store.isRegistered(1, "a") == false)
      #expect(try await store.put(1, Customer(id: "a")) == .created)
      #expect(try await store.isRegistered(1, "a"))
    }
  }

  /// Who did what, the oldest entry first.
  private func actors(_ ledger: PostgresClient) async throws -> [String] {
    try await AuditLog(ledger).entries(1, before: nil, limit: 100).entries.reversed().map { entry in
      let members = try JSONObject(JSONText(entry.json))
      return try "\(members.requiredString("actor")) \(members.string("token") ?? "none")"
    }
  }

  @Test func `the audit log names the token of the request`() async throws {
    try await with { (store, ledger) async throws in
      for name in ["shop", nil, "a.b_c-d"] {
        let customer = Customer(id: CustomerId(name ?? "none"))
        let answer = try await AuditEntry.$requestToken.withValue(name) { try await store.put(1, customer) }
        #expect(answer == .created)
      }
      // Only a publisher has tokens with names; a worker knows the name from the job.
      let entries = [
        AuditEntry(publisherId: 1, actor: .apple, token: "x", action: "a", subject: "s"),
        AuditEntry(publisherId: 1, actor: .publisher, token: "job", action: "a", subject: "s"),
      ]
      _ = try await AuditEntry.$requestToken.withValue("y") { try await ledger.run(AuditEntry.insert(entries)) }
      #expect(
        try await actors(ledger) == [
          "publisher shop", "publisher none", "publisher a.b_c-d", "apple none", "publisher job",
        ])
      #expect(try await ledger.texts("SELECT actor FROM audit ORDER BY id LIMIT 2") == ["publisher:shop", "publisher"])
      let export = try await store.export(1, "shop", now: 0)
      #expect(String(decoding: export ?? [], as: UTF8.self).contains(#""actor":"publisher""#))
      #expect(String(decoding: export ?? [], as: UTF8.self).contains(#""token":"shop""#))
    }
  }

  @Test func `the audit log has pages, the newest entries first`() async throws {
    try await with { (store, ledger) async throws in
      for number in 1...5 { _ = try await store.put(1, Customer(id: "c\(number)")) }
      _ = try await store.put(2, Customer(id: "other"))
      let log = AuditLog(ledger)
      var seen: [String] = []
      var before: Int64?
      repeat {
        let page = try await log.entries(1, before: before, limit: 2)
        seen += try page.entries.map { try JSONObject(JSONText($0.json)).requiredString("subject") }
        before = page.nextBefore
      } while before != nil
      #expect(seen == ["c5", "c4", "c3", "c2", "c1"])
      #expect(try await log.entries(1, before: nil, limit: 5).nextBefore == nil)
      let none = try await log.entries(3, before: nil, limit: 5)
      #expect(none.entries.isEmpty && none.nextBefore == nil)
    }
  }

  @Test func `a list has the customers whose ids begin with a prefix, in the order of their bytes`() async throws {
    try await with { (store, _) async throws in
      let ids: [CustomerId] = ["a", "ip", "ip9", "ip:", "ip:1", "ip:é", "ip:\u{10FFFF}", "ip;", "z", "\u{10FFFF}"]
      for id in ids.reversed() { #expect(try await store.put(1, Customer(id: id)) == .created) }
      #expect(try await store.put(2, Customer(id: "ip:2")) == .created)
      let all = try await store.list(1, prefix: "", skip: 0, limit: 100)
      #expect(all.ids == ids && all.total == 10)
      let some = try await store.list(1, prefix: "ip:", skip: 0, limit: 100)
      #expect(some.ids == ["ip:", "ip:1", "ip:é", "ip:\u{10FFFF}"] && some.total == 4)
      let page = try await store.list(1, prefix: "ip:", skip: 1, limit: 2)
      #expect(page.ids == ["ip:1", "ip:é"] && page.total == 4)
      #expect(try await store.list(3, prefix: "ip:", skip: 0, limit: 2).ids.isEmpty)
    }
  }
}
