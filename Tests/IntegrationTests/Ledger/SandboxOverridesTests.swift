import Domain
import EventLoop
import Fleets
import JSON
import Postgres
import ServerSupport
import Testing

@testable import Ledger

/// Sandbox access by hand as commits of the ledger.
@Suite(.enabled(if: TestServers.current != nil, "\(TestServers.hint)"), .sharingServers)
@LoopActor
struct SandboxOverridesTests {
  private typealias Given = LedgerOfPurchases

  private nonisolated static let ann = CustomerKey(publisherId: 7, id: "ann")

  private nonisolated static func wish(
    for customer: CustomerKey = ann, note: String? = nil, at now: Int64 = Given.now,
    until end: Int64 = Given.now + 5 * Given.day
  ) -> SandboxOverride {
    SandboxOverride(customer: customer, endsAt: end, reason: .testing, note: note, setAt: now)
  }

  private nonisolated static func publisher(_ customers: Publisher.CustomerPolicy = .open) -> Publisher {
    Publisher(
      id: 7, customers: customers, tokenHashes: [], customerTokens: nil, apps: [],
      offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"])]), webhooks: [])
  }

  private struct Done: Equatable {
    var override: SandboxOverride
    var change: SandboxOverrides.Change
    var events: [Event]
  }

  private func taken(_ answer: consuming SandboxOverrides.Answer?) -> Done? {
    guard let answer else { return nil }
    let (override, change) = (answer.override, answer.change)
    return Done(override: override, change: change, events: answer.takeTold().takeEvents())
  }

  private func put(
    _ ledger: Given, _ wish: SandboxOverride, _ limits: SandboxOverrideLimits = SandboxOverrideLimits(),
    _ publisher: Publisher = publisher(), by person: String? = nil
  ) async throws -> Done? {
    taken(
      try await SandboxOverrides(ledger.postgres).put(wish, publisher: publisher, limits: limits, by: person))
  }

  private func withdraw(_ ledger: Given, _ customer: CustomerKey = ann, at now: Int64 = Given.now + 5) async throws
    -> Done?
  {
    taken(try await SandboxOverrides(ledger.postgres).withdraw(of: customer, publisher: Self.publisher(), now: now))
  }

  /// What the customer may use, as every reader finds it.
  private func hasAccess(_ ledger: Given, at now: Int64 = Given.now) async throws -> Bool {
    let found = try await Holdings(ledger.postgres).holdings(of: Self.ann)
    let rules = Self.publisher().accessRules(for: "ann", owning: found.purchases)
    let entitlements = Entitlements.of(purchases: found.purchases, grants: [], rules: rules, now: now)
    return entitlements.contains(where: \.accessGranted)
  }

  private func buy(_ ledger: Given, as id: SynchronizationId = "s1") async throws -> Finalized {
    try await ledger.register("100", for: "ann", in: "Sandbox", as: id, publisher: Self.publisher())
  }

  private func causes(_ events: [Event]) -> [String] {
    events.filter { $0.topic == EventTopic.entitlementsChanged }.map { event in
      let body = String(decoding: event.body, as: UTF8.self)
      let cause = body.split(separator: #""cause":""#).last?.prefix { $0 != "\"" }
      return cause.map(String.init) ?? ""
    }
  }

  @Test func `a refused purchase gives access while an override is in force, and each reader knows it`() async throws {
    try await Given.with { ledger in
      #expect(try await buy(ledger).code == .sandboxNotAllowed)
      #expect(try await !hasAccess(ledger))
      let set = try #require(try await put(ledger, Self.wish()))
      #expect(set.change == .begun && causes(set.events) == ["sandboxAccess"])
      #expect(try await hasAccess(ledger))
      #expect(try await hasAccess(ledger, at: Given.now + 5 * Given.day - 1))
      #expect(try await !hasAccess(ledger, at: Given.now + 5 * Given.day))
      #expect(try await buy(ledger, as: "s2").code == .purchaseSynchronized)
      let end = Given.now + 5 * Given.day
      let (reader, key) = (PurchaseReader(ledger.postgres), Given.key("100", in: "Sandbox"))
      #expect(try await reader.purchases([key])[key]?.owner?.sandboxUntil == end)
      #expect(try await reader.purchase(7, "100", in: ["Sandbox"])?.purchase.owner?.sandboxUntil == end)
      #expect(try await reader.purchases(of: Self.ann, limit: 9).purchases.map(\.owner?.sandboxUntil) == [end])
      #expect(try await reader.allPurchases(of: Self.ann).map(\.owner?.sandboxUntil) == [end])
      // A purchase that costs money looks for nothing.
      try await ledger.register("200", for: "ann", publisher: Self.publisher())
      let paid = Given.key("200")
      #expect(try await reader.purchases([paid])[paid]?.owner?.sandboxUntil == nil)
      let withdrawn = try #require(try await withdraw(ledger))
      #expect(withdrawn.change == .withdrawn && withdrawn.override.state(at: Given.now + 9) == .withdrawn)
      #expect(try await reader.purchases([key])[key]?.owner?.sandboxUntil == nil)
    }
  }

  @Test func `each change has its row of the audit log, and a repetition changes nothing`() async throws {
    try await Given.with { ledger in
      let first = try #require(try await put(ledger, Self.wish(note: "about Ann")))
      #expect(first.override.setBy == "publisher" && first.change == .begun)
      let again = try #require(try await put(ledger, Self.wish(note: "about Ann", at: Given.now + 9)))
      #expect(again == Done(override: first.override, change: .nothing, events: []))
      let longer = Self.wish(at: Given.now + 9, until: Given.now + 9 * Given.day)
      let other = try #require(try await put(ledger, longer, by: "kim"))
      #expect(other.change == .replaced && other.override.setBy == "operator:kim")
      #expect(try await SandboxOverrides(ledger.postgres).last(of: Self.ann) == other.override)
      let withdrawn = try #require(try await withdraw(ledger, at: Given.now + 20))
      #expect(try await withdraw(ledger, at: Given.now + 30)?.override == withdrawn.override)
      #expect(try await withdraw(ledger, CustomerKey(publisherId: 7, id: "ben")) == nil)
      #expect(
        try await ledger.texts("SELECT actor || ' ' || action || ' ' || subject FROM audit ORDER BY id") == [
          "publisher customer.sandboxAccessSet ann", "operator:kim customer.sandboxAccessSet ann",
          "publisher customer.sandboxAccessWithdrawn ann",
        ])
      let details = try await ledger.texts("SELECT convert_from(detail, 'UTF8') FROM audit")
      #expect(details.allSatisfy { $0.contains(#""until":"#) && !$0.contains("about Ann") })
      // After its end the same wish begins another one.
      #expect(try await put(ledger, Self.wish(at: Given.now + 40))?.change == .begun)
    }
  }

  private func bring(
    _ ledger: Given, _ wish: SandboxOverride, isTold: Bool = false, customers: Int = 100, at now: Int64 = Given.now
  ) async throws -> Done? {
    taken(
      try await SandboxOverrides(ledger.postgres).bring(
        wish, isTold: isTold, publisher: Self.publisher(), limits: SandboxOverrideLimits(customers: customers),
        by: "kim", now: now))
  }

  @Test func `one from another fleet comes in silence, and what stands here stays`() async throws {
    try await Given.with { ledger in
      #expect(try await buy(ledger).code == .sandboxNotAllowed)
      let before = try await ledger.number("SELECT count(*) FROM events")
      let wish = Self.wish(note: "about Ann", at: Given.now - 9)
      let first = try #require(try await bring(ledger, wish))
      #expect(first.change == .begun && first.events == [] && first.override.setBy == "operator:kim")
      #expect(first.override.setAt == Given.now - 9)
      #expect(try await hasAccess(ledger))
      #expect(try await ledger.number("SELECT count(*) FROM events") == before)
      #expect(try await bring(ledger, wish) == Done(override: first.override, change: .nothing, events: []))
      // Another one, also a later one, does not take its place.
      let other = Self.wish(at: Given.now + 9, until: Given.now + 9 * Given.day)
      #expect(try await bring(ledger, other)?.override == first.override)
      // Withdrawn here, it does not come back, and neither does an earlier one.
      let withdrawn = try #require(try await withdraw(ledger))
      #expect(try await bring(ledger, wish)?.override == withdrawn.override)
      let earlier = Self.wish(at: Given.now - 20, until: Given.now + 2 * Given.day)
      #expect(try await bring(ledger, earlier) == Done(override: withdrawn.override, change: .nothing, events: []))
      #expect(try await !hasAccess(ledger))
      #expect(
        try await ledger.texts(
          "SELECT actor || ' ' || action FROM audit WHERE action LIKE 'customer.sandbox%' ORDER BY id") == [
            "operator:kim customer.sandboxAccessSet", "publisher customer.sandboxAccessWithdrawn",
          ])
      // A later one begins, and is told if the import tells.
      let told = try #require(try await bring(ledger, other, isTold: true, at: Given.now + 10))
      #expect(told.change == .begun && causes(told.events) == ["sandboxAccess"])
    }
  }

  @Test func `the limits hold for what is brought`() async throws {
    try await Given.with { ledger in
      for name in ["ben", "eve"] {
        _ = try await bring(ledger, Self.wish(for: CustomerKey(publisherId: 7, id: CustomerId(name))), customers: 2)
      }
      await #expect(throws: SandboxOverrideRefusal.tooMany) { _ = try await bring(ledger, Self.wish(), customers: 2) }
      await #expect(throws: SandboxOverrideRefusal.tooLong) {
        _ = try await bring(ledger, Self.wish(until: Given.now + 91 * Given.day))
      }
      await #expect(throws: SandboxOverrideRefusal.alreadyOver) {
        _ = try await bring(ledger, Self.wish(until: Given.now - 1))
      }
      #expect(try await ledger.number("SELECT count(*) FROM sandbox_access") == 2)
      #expect(try await ledger.number("SELECT count(*) FROM audit") == 2)
    }
  }

  @Test func `a publisher that puts its customers first allows it for no stranger`() async throws {
    try await Given.with { ledger in
      #expect(try await put(ledger, Self.wish(), SandboxOverrideLimits(), Self.publisher(.registered)) == nil)
      #expect(try await ledger.number("SELECT count(*) FROM sandbox_access") == 0)
      _ = try await CustomerStore(ledger.postgres).put(7, Customer(id: "ann"))
      let set = try await put(ledger, Self.wish(), SandboxOverrideLimits(), Self.publisher(.registered))
      #expect(set?.change == .begun)
    }
  }

  @Test func `a due one is taken by one worker, and its end is told once`() async throws {
    try await Given.with { ledger in
      _ = try await put(ledger, Self.wish())
      _ = try await buy(ledger)
      let ben = CustomerKey(publisherId: 7, id: "ben")
      _ = try await put(ledger, Self.wish(for: ben))
      let share = [PublisherShare(publisherId: 7, most: 10)]
      let timers = AccessTimers<SandboxOverride>(ledger.postgres)
      // A row of a newer process keeps no other from being taken.
      _ = try await ledger.postgres.run("UPDATE sandbox_access SET due_at = now()")
      _ = try await ledger.postgres.run("UPDATE sandbox_access SET reason = 'later' WHERE customer_id = 'ben'")
      var failures: [String] = []
      let due = try await timers.takeDue(share, limit: 10) { failures.append("\($0)") }
      #expect(due.map(\.customer) == [Self.ann] && failures.count == 1 && !failures[0].contains("ben"))
      let again = try await timers.takeDue(share, limit: 10) { Issue.record($0) }
      #expect(again.isEmpty)
      // A worker whose clock is behind ends it all the same.
      let overrides = SandboxOverrides(ledger.postgres)
      let taken = try #require(due.first)
      let events = try #require(
        try await overrides.end(taken, publisher: Self.publisher(), now: Given.now).taken())
      #expect(causes(events) == ["sandboxAccess"] && events.map(\.time) == [taken.endsAt])
      #expect(try await overrides.end(taken, publisher: Self.publisher(), now: Given.now).taken() == nil)
      // By its own clock the override is in force, and its end was told: nothing brings the access back.
      #expect(try await !hasAccess(ledger))
      #expect(try await buy(ledger, as: "s2").code == .sandboxNotAllowed)
    }
  }

  @Test func `a longer one that is set meanwhile is not ended`() async throws {
    try await Given.with { ledger in
      let first = try #require(try await put(ledger, Self.wish())).override
      let longer = Self.wish(at: Given.now + 1, until: first.endsAt + 1)
      _ = try #require(try await put(ledger, longer))
      let told = try await SandboxOverrides(ledger.postgres).end(first, publisher: Self.publisher(), now: Given.now)
        .taken()
      #expect(told == nil)
      #expect(try await SandboxOverrides(ledger.postgres).last(of: Self.ann)?.state(at: Given.now) == .open)
    }
  }

  @Test func `commits of purchases, of releases and of changed rules follow it`() async throws {
    try await Given.with { ledger in
      _ = try await put(ledger, Self.wish())
      let done = try await buy(ledger)
      #expect(done.code == .purchaseSynchronized && causes(done.events) == ["registration"])
      // The file that allows it, too, takes the end away. The end of the override changes nothing then.
      let reevaluation = Reevaluation(ledger.postgres, now: { Given.now })
      var told: [Event] = []
      let open = Given.publisher()
      for rules in [Self.publisher(), Self.publisher(), open, open] {
        try await reevaluation.run(Publishers([rules])) { told += $0.takeEvents() }
      }
      #expect(causes(told) == ["rules"])
      let withdrawn = taken(
        try await SandboxOverrides(ledger.postgres).withdraw(of: Self.ann, publisher: open, now: Given.now + 1))
      #expect(withdrawn?.change == .withdrawn && withdrawn?.events == [])
      _ = try await put(ledger, Self.wish(at: Given.now + 2))
      let released = try await PurchaseRelease(ledger.postgres).release(
        Given.key("100", in: "Sandbox"), publisher: Self.publisher(), now: Given.now
      ).taken()
      #expect(causes(released ?? []) == ["release"])
    }
  }

  @Test func `the end and a registration at once leave no access behind, 60 times`() async throws {
    try await Given.with { ledger in
      let overrides = SandboxOverrides(ledger.postgres)
      for round in 0..<60 {
        let customer = CustomerKey(publisherId: 7, id: CustomerId("c\(round)"))
        let set = try #require(try await put(ledger, Self.wish(for: customer))).override
        // The registration's worker is behind: by its clock the override is in force.
        async let registered = ledger.register(
          "5\(round)", for: customer.id, in: "Sandbox", publisher: Self.publisher())
        async let ended = overrides.end(set, publisher: Self.publisher(), now: set.endsAt).taken()
        let (done, events) = (try await registered, try await ended ?? [])
        let states = (done.events + events).filter { $0.topic == EventTopic.entitlementsChanged }
          .sorted { ($0.version ?? 0) < ($1.version ?? 0) }
        // Either the registration found the end, or the end found the purchase.
        if done.code == .purchaseSynchronized {
          #expect(causes(states) == ["registration", "sandboxAccess"], "round \(round)")
        } else {
          #expect(done.code == .sandboxNotAllowed && states.isEmpty, "round \(round)")
        }
      }
      let told = try await ledger.number(
        "SELECT count(*) FROM customers WHERE convert_from(told, 'UTF8') LIKE '%\"accessGranted\":true%'")
      #expect(told == 0)
      #expect(try await ledger.number("SELECT count(*) FROM sandbox_access WHERE due_at IS NOT NULL") == 0)
    }
  }

  @Test func `two gateways at once allow it for no more customers than the limit says`() async throws {
    try await Given.with { ledger in
      let limits = SandboxOverrideLimits(customers: 3)
      let attempts = (1...9).map { number in
        Task { @LoopActor () -> SandboxOverrideRefusal? in
          do {
            _ = try await put(ledger, Self.wish(for: CustomerKey(publisherId: 7, id: "c\(number)")), limits)
            return nil
          } catch {
            return error as? SandboxOverrideRefusal ?? .alreadyOver
          }
        }
      }
      var outcomes: [SandboxOverrideRefusal?] = []
      for attempt in attempts { outcomes.append(await attempt.value) }
      #expect(outcomes.filter { $0 == nil }.count == 3)
      #expect(outcomes.allSatisfy { $0 == nil || $0 == .tooMany })
      let held = try await ledger.texts("SELECT customer_id FROM sandbox_access ORDER BY 1")
      let first = try #require(held.first.map { CustomerKey(publisherId: 7, id: CustomerId($0)) })
      // Who has one may have it longer, and a withdrawn one makes room.
      let longer = Self.wish(for: first, at: Given.now + 1, until: Given.now + 6 * Given.day)
      #expect(try await put(ledger, longer, limits)?.change == .replaced)
      await #expect(throws: SandboxOverrideRefusal.tooMany) { try await put(ledger, Self.wish(), limits) }
      _ = try await withdraw(ledger, first)
      #expect(try await put(ledger, Self.wish(), limits)?.change == .begun)
      // Another publisher has its own.
      let theirs = Publisher(
        id: 8, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([]), webhooks: [])
      let other = CustomerKey(publisherId: 8, id: "ann")
      #expect(try await put(ledger, Self.wish(for: other), limits, theirs)?.change == .begun)
    }
  }

  @Test func `exports have it, and an erasure takes it`() async throws {
    try await Given.with { ledger in
      _ = try await buy(ledger)
      _ = try await put(ledger, Self.wish(note: "a note"), by: "kim")
      let store = CustomerStore(ledger.postgres)
      let document = try #require(try await store.export(7, "ann", now: Given.now))
      let text = String(decoding: document, as: UTF8.self)
      #expect(text.contains(#""sandboxAccess":[{"note":"a note","reason":"testing","#) && !text.contains("kim"))
      var lines: [String] = []
      _ = try await PublisherExport(ledger.postgres, Self.publisher()).run(
        PublisherExport.Caller(write: { lines.append(String(decoding: $0, as: UTF8.self)) }))
      let all = lines.joined()
      #expect(all.contains(#"{"kind":"sandboxAccess","key":["ann"],"customerId":"ann","note":"a note""#))
      #expect(all.contains(#""sandboxAccess":1"#) && !all.contains("operator:kim"))
      #expect(try await store.erase(7, "ann", now: Given.now + 1)?.sandboxAccess == 1)
      #expect(try await ledger.number("SELECT count(*) FROM sandbox_access") == 0)
    }
  }
}
