import Domain
import EventLoop
import Fleets
import Formats
import Ledger
import Postgres
import ServerSupport
import Testing

/// Notifications, against a real PostgreSQL.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct UpdateTests {
  private nonisolated static func notification(_ uuid: NotificationUUID, _ publisher: PublisherId = 7)
    -> KeptNotification
  {
    KeptNotification(
      publisherId: publisher, uuid: uuid, type: "DID_RENEW", environment: "Production", bundleId: "com.example",
      originalTransactionId: "100", signedDate: CommitLab.now, source: .apple, body: Array("text of \(uuid)".utf8))
  }

  @Test func `a notification is kept once for each publisher, and open until it is applied`() async throws {
    try await CommitLab.with { lab in
      let store = NotificationStore(lab.clients[0])
      let rows = [Self.notification("n1"), Self.notification("n1", 8), Self.notification("n2")]
      let keys = rows.map { NotificationKey(publisherId: $0.publisherId, uuid: $0.uuid) }
      #expect(try await store.keep(rows) == Set(keys))
      #expect(try await store.keep(rows).isEmpty)
      #expect(try await store.open(keys)[keys[2]] == KeptNotification.Open(text: "text of n2", source: .apple))
      try await store.finish([keys[2]], now: CommitLab.now)
      #expect(Set(try await store.open(keys).keys) == Set(keys[..<2]))
    }
  }

  @Test func `a new notification is owed to the URLs that get it, once, and byte for byte`() async throws {
    try await CommitLab.with { lab in
      let (store, deliveries) = (NotificationStore(lab.clients[0]), DeliveryLedger(lab.clients[0]))
      let (plain, odd) = (Self.notification("n1"), Self.notification("n2"))
      let spaced = Array("{ \"signedPayload\" : \"text of n2\"}\n".utf8)
      let rows = [
        plain.forwarded(to: ["fwd_a", "fwd_b"], as: KeptNotification.canonical(plain.body)),
        odd.forwarded(to: ["fwd_a"], as: spaced), Self.notification("n3"),
        // Apple has no such UUID. It is kept, and not passed on.
        Self.notification("a.b").forwarded(to: ["fwd_a"]),
      ]
      #expect(try await store.keep(rows).count == 4)
      // Apple's repeat, here with another file of the publisher's.
      #expect(try await store.keep([plain.forwarded(to: ["fwd_a", "fwd_c"])]).isEmpty)
      let owed = try await deliveries.overdue(by: .seconds(-1), limit: 10)
      #expect(owed.lost == 0)
      #expect(
        owed.deliveries.map { "\($0.eventId) \($0.endpointId ?? .unknown) \($0.attempt)" }.sorted() == [
          "ntf_7_n1 fwd_a 1", "ntf_7_n1 fwd_b 1", "ntf_7_n2 fwd_a 1",
        ])
      let posted = try await store.posted(plain.key)
      #expect(posted?.body == Array(#"{"signedPayload":"text of n1"}"#.utf8) && posted?.environment == "Production")
      #expect(try await store.posted(odd.key)?.body == spaced)
      #expect(try await store.posted(NotificationKey(publisherId: 8, uuid: "n1")) == nil)
    }
  }

  @Test func `a commit applies the notification with what it proves`() async throws {
    try await CommitLab.with { lab in
      _ = try await lab.workers[0].finalize(try CommitLab.request("s1", "me", "100", of: "100", expires: 0.001))
      let store = NotificationStore(lab.clients[0])
      _ = try await store.keep([Self.notification("n1")])
      let update = try CommitLab.update(
        "101", of: "100", bought: 0, expires: 30, signed: 0.1, .notification(uuid: "n1", reason: .renewed))
      let events = try await lab.workers[0].apply(update)
      #expect(events.map(\.topic).contains(EventTopic.purchaseUpdated))
      #expect(try await store.open([NotificationKey(publisherId: 7, uuid: "n1")]).isEmpty)
      #expect(try await lab.workers[0].apply(update).isEmpty)
      let record = try await PurchaseReader(lab.clients[0]).purchase(7, "100", in: ["Production"])
      #expect(record?.purchase.deciding.transactionId == "101")
      #expect(record?.purchase.owner?.customerId == "me")
      let kept = try await lab.clients[0].run(
        PostgresQuery(PostgresStatement("test", "SELECT is_news, due_at IS NULL FROM notifications")))
      #expect(kept.map { $0.bool(0) } == [true] && kept.map { $0.bool(1) } == [true])
    }
  }

  @Test func `another id of a known period is kept, and tells nothing, beside an old row too`() async throws {
    try await CommitLab.with { lab in
      func copy(_ id: String, signed: Double) throws -> PurchaseUpdate {
        let piece = try CommitLab.evidence(
          id, of: "100", "monthly", .autoRenewable, bought: -1, expires: 30, signed: signed, line: "9100")
        return PurchaseUpdate(
          CommitLab.key("100"), [piece], from: .notification(uuid: "n\(id)", reason: .renewed),
          publisher: CommitLab.publisher)
      }
      _ = try await lab.workers[0].finalize(try CommitLab.request("s1", "me", "100", of: "100"))
      #expect(try await lab.workers[0].apply(copy("101", signed: 0.1)).isEmpty)
      let lines = "SELECT web_order_line_item_id FROM transactions ORDER BY transaction_id"
      #expect(try await lab.texts(lines) == ["9100", "9100"])
      #expect(try await lab.differences() == [])
      // Rows from before the ledger kept the order line.
      try await lab.clients[0].run("UPDATE transactions SET web_order_line_item_id = NULL")
      #expect(try await lab.workers[0].apply(copy("102", signed: 0.2)).isEmpty)
      let record = try await PurchaseReader(lab.clients[0]).purchase(7, "100", in: ["Production"])
      #expect(record?.purchase.deciding.transactionId == "102" && record?.purchase.transactions.count == 3)
      // At the end each row must follow from its evidence, which has the line.
      try await lab.clients[0].run("UPDATE transactions SET web_order_line_item_id = '9100'")
    }
  }

  @Test func `an old notification goes once it is applied, and tells nothing if it comes again`() async throws {
    try await CommitLab.with { lab in
      _ = try await lab.workers[0].finalize(try CommitLab.request("s1", "me", "100", of: "100", expires: 0.001))
      let (store, retention) = (NotificationStore(lab.clients[0]), Retention(lab.clients[0]))
      _ = try await store.keep([Self.notification("n1"), Self.notification("open"), Self.notification("young")])
      let update = try CommitLab.update(
        "101", of: "100", bought: 0, expires: 30, signed: 0.1, .notification(uuid: "n1", reason: .renewed))
      #expect(!(try await lab.workers[0].apply(update)).isEmpty)
      try await store.finish([NotificationKey(publisherId: 7, uuid: "young")], now: CommitLab.now)
      try await lab.clients[0].run(
        "UPDATE notifications SET received_at = now() - interval '31 days' WHERE uuid <> 'young'")
      #expect(try await retention.deleteNotifications(after: .seconds(40 * 86_400), limit: 10) == 0)
      #expect(try await retention.deleteNotifications(after: .seconds(30 * 86_400), limit: 0) == 0)
      #expect(try await retention.deleteNotifications(after: .seconds(30 * 86_400), limit: 10) == 1)
      #expect(try await lab.number("SELECT count(*) FROM notifications WHERE uuid IN ('open', 'young')") == 2)
      // Notification History may bring it again: then it is new, and stale.
      #expect(try await store.keep([Self.notification("n1")]).count == 1)
      let told = try await lab.number("SELECT count(*) FROM events")
      #expect(try await lab.workers[0].apply(update).isEmpty)
      #expect(try await lab.number("SELECT count(*) FROM events") == told)
      #expect(try await lab.number("SELECT count(*) FROM notifications WHERE uuid = 'n1' AND NOT is_news") == 1)
    }
  }

  @Test func `what nobody can apply yet waits longer each time, up to an hour`() async throws {
    try await CommitLab.with { lab in
      let store = NotificationStore(lab.clients[0])
      let ages: [(NotificationUUID, Int)] = [("n0", 0), ("n600", 600), ("n86400", 86_400), ("applied", 600)]
      _ = try await store.keep(ages.map { Self.notification($0.0) })
      try await store.finish([NotificationKey(publisherId: 7, uuid: "applied")], now: CommitLab.now)
      for (uuid, age) in ages {
        try await lab.clients[0].run(
          "UPDATE notifications SET received_at = now() - \(age) * interval '1 second' WHERE uuid = '\(uuid)'")
      }
      try await store.putOff(ages.map { NotificationKey(publisherId: 7, uuid: $0.0) })
      // Each row tells its wait, by the clock of the statement that wrote it: the age and the wait are one number.
      let waits = try await lab.texts(
        """
        SELECT uuid FROM notifications WHERE CASE uuid
          WHEN 'n0' THEN due_at >= received_at + interval '30 seconds'
          WHEN 'n600' THEN due_at - received_at >= interval '1200 seconds' AND due_at < received_at + interval '3600 seconds'
          WHEN 'n86400' THEN due_at - received_at >= interval '90000 seconds'
            AND due_at <= received_at + interval '93600 seconds'
          ELSE due_at IS NULL END ORDER BY uuid
        """)
      #expect(waits == ["applied", "n0", "n600", "n86400"])
      #expect(try await store.takeOverdue(of: [7], limit: 10).isEmpty)
    }
  }

  @Test func `a sweep takes some open notifications of each publisher`() async throws {
    try await CommitLab.with { lab in
      let store = NotificationStore(lab.clients[0])
      _ = try await store.keep((0..<40).map { Self.notification("a\($0)", 7) } + [Self.notification("b", 8)])
      try await lab.clients[0].run("UPDATE notifications SET due_at = now() - interval '1 second'")
      // The one with many has the older ones.
      try await lab.clients[0].run(
        "UPDATE notifications SET due_at = due_at - interval '1 hour' WHERE publisher_id = 7")
      let taken = try await store.takeOverdue(of: [7, 8], limit: 20)
      #expect(taken.count { $0.publisherId == 7 } == 10)
      #expect(taken.contains(NotificationKey(publisherId: 8, uuid: "b")))
      // Nobody judges those of a publisher without a file.
      #expect(try await store.takeOverdue(of: [8], limit: 20).isEmpty)
      #expect(try await store.takeOverdue(of: [], limit: 20).isEmpty)
      #expect(try await store.takeOverdue(of: [7, 8], limit: 100).count == 30)
    }
  }

  @Test func `a notice is told once, to the customers who have the download`() async throws {
    try await CommitLab.with { lab in
      for (id, customer) in [("100", "me"), ("200", "you")] {
        _ = try await lab.workers[0].finalize(try CommitLab.request("s\(id)", customer, id, of: id))
      }
      let store = NotificationStore(lab.clients[0])
      func notice(_ uuid: NotificationUUID, _ download: AppTransactionId?, in environment: Environment = .production)
        -> NotificationNotice
      {
        NotificationNotice(
          publisherId: 7, uuid: uuid, environment: environment, bundleId: "com.example", signedDate: CommitLab.now,
          kind: .consentRescinded(appTransactionId: download))
      }
      let notices = [
        notice("mine", "704100"), notice("none", "704300"), notice("other", "704100", in: "Sandbox"),
        notice("empty", nil),
      ]
      let keys = (notices.map(\.uuid) + ["test"]).map { NotificationKey(publisherId: 7, uuid: $0) }
      _ = try await store.keep(keys.map { Self.notification($0.uuid) })
      let finished = try await store.finishing(keys, telling: notices, audience: [7])
      #expect(finished.told == 4 && finished.stored == 1)
      let events = finished.events
      #expect(events.map(\.topic) == Array(repeating: EventTopic.consentRescinded, count: 4))
      #expect(events.map(\.customerId) == ["me", nil, nil, nil])
      let again = try await store.finishing(keys, telling: notices, audience: [7])
      #expect(again.events.isEmpty && again.told == 0 && again.stored == 0)
      #expect(try await store.open(keys).isEmpty)
      let ids = events.map { "'\($0.id)'" }.joined(separator: ",")
      for table in ["outbox WHERE event_id", "deliveries WHERE event_id", "events WHERE id"] {
        #expect(try await lab.number("SELECT count(*) FROM \(table) IN (\(ids))") == 4)
      }
      // An erasure finds the event that names the customer. The others name nobody whom anybody could erase.
      #expect(try await lab.number("SELECT count(*) FROM events WHERE id IN (\(ids)) AND erased") == 3)
      #expect(try await lab.number("SELECT count(*) FROM notifications WHERE is_news") == 4)
    }
  }

  @Test func `an old notice is finished and tells nothing`() async throws {
    try await CommitLab.with { lab in
      let store = NotificationStore(lab.clients[0])
      let ages: [(uuid: NotificationUUID, age: Int64)] = [
        ("old", NotificationNotice.toldFor + 1), ("young", NotificationNotice.toldFor), ("other", 180 * 86_400_000),
      ]
      let keys = ages.map { NotificationKey(publisherId: 7, uuid: $0.uuid) }
      _ = try await store.keep(ages.map { Self.notification($0.uuid) })
      let notices = ages.map {
        NotificationNotice(
          publisherId: 7, uuid: $0.uuid, environment: "Production", bundleId: "com.example",
          signedDate: CommitLab.now - $0.age, kind: .consentRescinded(appTransactionId: "704"))
      }
      let finished = try await store.finishing(keys, telling: notices)
      #expect(finished.told == 1 && finished.stored == 2 && finished.events.count == 1)
      #expect(String(decoding: finished.events[0].body, as: UTF8.self).contains(#""notificationUUID":"young""#))
      #expect(try await lab.number("SELECT count(*) FROM notifications WHERE is_news AND uuid = 'young'") == 1)
      let applied = "SELECT count(*) FROM notifications WHERE NOT is_news AND applied_at IS NOT NULL"
      #expect(try await lab.number(applied) == 2)
      #expect(try await store.open(keys).isEmpty)
    }
  }

  @Test func `withdrawn consent reaches a hundred customers, and says whom it could not reach`() async throws {
    // The ledger that this test makes does not fit its evidence.
    try await CommitLab.with(isChecked: false) { lab in
      let most = NotificationStore.mostCustomers
      for number in 100...(100 + most) {
        _ = try await lab.workers[0].finalize(
          try CommitLab.request("s\(number)", "c\(number)", "\(number)", of: "\(number)"))
      }
      try await lab.clients[0].run("UPDATE transactions SET app_transaction_id = '704'")
      let store = NotificationStore(lab.clients[0])
      func told(_ uuid: NotificationUUID) async throws -> (
        events: [Event], told: Int, stored: Int, cut: [NotificationNotice]
      ) {
        _ = try await store.keep([Self.notification(uuid)])
        let notice = NotificationNotice(
          publisherId: 7, uuid: uuid, environment: "Production", bundleId: "com.example", signedDate: CommitLab.now,
          kind: .consentRescinded(appTransactionId: "704"))
        return try await store.finishing([NotificationKey(publisherId: 7, uuid: uuid)], telling: [notice])
      }
      let all = try await told("n1")
      #expect(all.cut.map(\.uuid) == ["n1"] && all.events.count == most && all.told == 1)
      #expect(Set(all.events.compactMap { $0.customerId }) == Set((100..<(100 + most)).map { "c\($0)" }))
      try await lab.clients[0].run("UPDATE transactions SET app_transaction_id = '705' WHERE transaction_id = '100'")
      let fewer = try await told("n2")
      #expect(fewer.cut.isEmpty && fewer.events.count == most)
    }
  }

  @Test func `a token that is due can be sent again, since its event names nobody`() async throws {
    try await CommitLab.with { lab in
      let store = NotificationStore(lab.clients[0])
      _ = try await store.keep([Self.notification("n1")])
      let token = NotificationNotice.Token(id: "b2158121", type: nil, createdAt: nil, expiresAt: nil)
      let events = try await store.finishing(
        [NotificationKey(publisherId: 7, uuid: "n1")],
        telling: [
          NotificationNotice(
            publisherId: 7, uuid: "n1", environment: "Production", bundleId: "com.example",
            signedDate: CommitLab.now, kind: .tokenDue(token))
        ]
      ).events
      #expect(events.map(\.topic) == [EventTopic.externalPurchaseTokenDue])
      #expect(
        try await lab.number("SELECT count(*) FROM events WHERE NOT erased AND topic = '\(events[0].topic)'") == 1)
    }
  }

  @Test func `two workers apply one set of notifications in any order, and the ledger is whole`() async throws {
    try await CommitLab.with(workers: 2) { lab in
      var updates: [PurchaseUpdate] = []
      for period in 0..<6 {
        updates.append(
          try CommitLab.update(
            "\(100 + period)", of: "100", bought: Double(period) * 30 - 200, expires: Double(period) * 30 - 170,
            signed: Double(period) * 30 - 200, .notification(uuid: "n\(period)", reason: .renewed)))
      }
      let tasks = (updates + updates).shuffled().enumerated().map { number, update in
        Task { @LoopActor in try await lab.workers[number % 2].apply(update) }
      }
      var events = 0
      for task in tasks { events += try await task.value.count }
      #expect((1...6).contains(events))
      let record = try await PurchaseReader(lab.clients[0]).purchase(7, "100", in: ["Production"])
      #expect(record?.purchase.transactions.count == 6)
      #expect(record?.purchase.deciding.transactionId == "105")
    }
  }

  @Test func `a customer's token claims the purchase in the commit`() async throws {
    try await CommitLab.with { lab in
      let token = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
      _ = try await CustomerStore(lab.clients[0]).put(7, Customer(id: "me", appAccountToken: AppAccountToken(token)))
      let update = try CommitLab.update("100", of: "100", token: token)
      let events = try await lab.workers[0].apply(update)
      #expect(events.map(\.topic) == [EventTopic.entitlementsChanged, EventTopic.purchaseUpdated])
      let record = try await PurchaseReader(lab.clients[0]).purchase(7, "100", in: ["Production"])
      #expect(record?.ownerships.map(\.cause) == ["appAccountToken"])
    }
  }

  @Test func `an upgrade under a new original id follows the owner, whichever the ledger gets first`() async throws {
    try await CommitLab.with { lab in
      for (old, new, isNewFirst) in [("100", "200", false), ("300", "400", true)] {
        let update = try CommitLab.update(
          new, of: new, insteadOf: old, .notification(uuid: "u\(new)", reason: .planChanged))
        if isNewFirst { _ = try await lab.workers[0].apply(update) }
        _ = try await lab.workers[0].finalize(try CommitLab.request("s\(old)", "me", old, of: old))
        if !isNewFirst { _ = try await lab.workers[0].apply(update) }
        let record = try await PurchaseReader(lab.clients[0]).purchase(
          7, OriginalTransactionId(new), in: ["Production"])
        #expect(record?.purchase.owner?.customerId == "me", "\(old)")
        #expect(record?.ownerships.map(\.cause) == ["upgrade"])
      }
    }
  }
}
