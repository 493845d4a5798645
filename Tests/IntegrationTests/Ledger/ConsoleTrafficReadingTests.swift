import Domain
import EventLoop
import Fleets
import Formats
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// What the console reads about webhooks, notifications and synchronizations, over a ledger.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct ConsoleTrafficReadingTests {
  private static let minute: Int64 = 60_000
  private static let noDoors = DoorCatalog([])

  /// Reads all pages of a list.
  private func all<Row: Sendable>(
    _ read: @LoopActor (ConsolePlace?) async throws -> ConsoleRows<Row>
  ) async throws -> [[Row]] {
    var (pages, place): ([[Row]], ConsolePlace?) = ([], nil)
    repeat {
      let page = try await read(place)
      pages.append(page.rows)
      place = page.next
      // Each page moves on, so no list has as many.
      try #require(pages.count < 50)
    } while place != nil
    return pages
  }

  // MARK: Webhooks

  @Test func `an endpoint says how its newest attempts ended, and what it has not got`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      let now = unixMilliseconds()
      for number in 1...4 {
        let delivery = try await bench.event(EventId("evt_\(number)"))
        let time = now - Int64(5 - number) * Self.minute
        try await bench.end(
          delivery, among: ["main", "other"], number < 4 ? .delivered : .failed, nextAt: now, time: time)
      }
      let endpoints = ConsoleEndpoints(bench.ledger)
      let states = try await endpoints.states(of: [
        EndpointKey(publisherId: 1, id: "nobody"), EndpointKey(publisherId: 1, id: "main"),
        EndpointKey(publisherId: 2, id: "main"),
      ])
      #expect(states.map(\.made) == [0, 4, 0] && states.map(\.delivered) == [0, 3, 0])
      #expect(states[1].medianMilliseconds == 12 && states[1].lastDeliveredAt == now - 2 * Self.minute)
      #expect(states[1].health.failingSince == now - Self.minute && states[1].health.disabled == nil)
      #expect(states[0] == ConsoleEndpoint.State())
      let hours = try await endpoints.hours(of: 1, "main", within: .seconds(60))
      #expect(hours.count == 24 && hours.map(\.made).reduce(0, +) == 4 && hours.last?.made == 4)
      #expect(hours.last?.delivered == 3 && hours.last?.medianMilliseconds == 12 && hours[0].medianMilliseconds == nil)
      #expect(zip(hours, hours.dropFirst()).allSatisfy { $1.start - $0.start == 60 * Self.minute })
      #expect(try await endpoints.hours(of: 2, "main", within: .seconds(60)).allSatisfy { $0.made == 0 })
      // The fourth event waits for another attempt here, and all four wait for the first one there.
      let backlog = try await endpoints.backlog(of: 1, "main", within: .seconds(60))
      #expect(backlog == ConsoleEndpoint.Backlog(waiting: 1, oldest: 1_700_000_000_123))
      #expect(try await endpoints.backlog(of: 1, "other", within: .seconds(60)).waiting == 4)
      #expect(try await endpoints.backlog(of: 2, "main", within: .seconds(60)) == ConsoleEndpoint.Backlog(waiting: 0))
    }
  }

  @Test func `the endpoints of the API come in the order of publishers and ids`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      for (publisher, id) in [(2, "a"), (1, "b"), (1, "a"), (3, "a")] as [(PublisherId, EndpointId)] {
        let endpoint = WebhookEndpoint(id: id, url: "https://x.example/\(id)", topics: ["t"], secrets: [])
        _ = try await bench.endpoints.create(publisher, endpoint)
      }
      let endpoints = ConsoleEndpoints(bench.ledger)
      let found = try await all { place in
        let read = try await endpoints.endpoints(
          of: [2, 1], after: place.map { EndpointKey(publisherId: $0.publisherId, id: EndpointId($0.id)) }, limit: 3)
        return ConsoleRows(read, limit: 2) { ConsolePlace(0, $0.publisherId, $0.id.text) }
      }
      #expect(found.map { $0.map { "\($0.publisherId)\($0.id)" } } == [["1a", "1b"], ["2a"]])
      #expect(try await endpoints.endpoints(of: [], after: nil, limit: 3) == [])
      let one = try #require(try await endpoints.endpoints(of: 2, named: ["a"]).first)
      #expect(one.url == "https://x.example/a" && one.topics == ["t"] && one.source == "api")
      #expect(try await endpoints.endpoints(of: 2, named: ["b"]).isEmpty)
    }
  }

  @Test func `an event has what is owed of it, and only at its publisher`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      let delivery = try await bench.event()
      #expect(try await ConsoleEvent.read(1, "evt_1", bench.ledger).open.map(\.endpointId) == [.unknown])
      try await bench.end(delivery, among: ["main", "other"], .failed, nextAt: 77)
      let event = try await ConsoleEvent.read(1, "evt_1", bench.ledger)
      #expect(event.event?.topic == "t" && !event.isInOutbox)
      #expect(event.open.map(\.endpointId) == ["main", "other"] && event.open.map(\.attempt) == [2, 1])
      #expect(event.open.first?.dueAt == 77)
      #expect(
        try await ConsoleEvent.read(2, "evt_1", bench.ledger) == ConsoleEvent(publisherId: 2, id: "evt_1", event: nil))
    }
  }

  /// Nobody publishes the round. So it is the longest overdue, and the next sweep takes it, whatever the queues hold.
  @Test func `what a person sends again is found by the next sweep, once, with the name in the audit`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      let delivery = try await bench.event()
      try await bench.end(delivery, among: ["main"], .abandoned)
      func resend(_ round: DeliveryRound, publisher: PublisherId = 1) async throws -> Bool {
        try await bench.deliveries.resend(publisher: publisher, event: "evt_1", to: "main", round: round, by: "ada")
      }
      #expect(try await !resend("r", publisher: 2))
      #expect(try await bench.rows() == [])
      for _ in 1...2 { #expect(try await resend("r")) }
      #expect(try await bench.rows() == ["evt_1/main/r/1"])
      let found = try await bench.deliveries.overdue(by: .seconds(864_000), limit: 10).deliveries
      #expect(found.map(\.round) == ["r"] && found.map(\.endpointId) == ["main"])
      #expect(try await bench.state(try #require(found.first)) == .open)
      try await bench.end(try #require(found.first), .delivered)
      // The form is sent again, later than its delivery.
      #expect(try await resend("r"))
      #expect(try await bench.rows() == [])
      let audit = "SELECT action || ' ' || actor || ' ' || subject FROM audit ORDER BY id"
      #expect(try await bench.ledger.texts(audit) == ["event.resent operator:ada main"])
    }
  }

  @Test func `what a person does to an endpoint has the name in the audit, and a test comes once`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      let new = WebhookEndpoint(
        id: "ep", url: "https://x.example", topics: ["t"], secrets: [.init(key: Array(repeating: 1, count: 32))])
      _ = try await bench.endpoints.create(1, new)
      for _ in 1...2 { #expect(try await bench.endpoints.disable(1, "ep", by: "ada")) }
      #expect(try await bench.endpoints.health(1, ["ep"]).first?.disabled?.reason == .request)
      for _ in 1...2 { #expect(try await bench.endpoints.enable(1, "ep", by: "ada")) }
      #expect(try await !bench.endpoints.enable(2, "ep", by: "ada"))
      let changed = try await bench.endpoints.change(1, "ep", by: "ada") { endpoint, now in
        let isRotated = endpoint.rotate(to: Array(repeating: 2, count: 32), overlap: 0, now: now)
        #expect(isRotated)
      }
      #expect(changed?.secrets.map(\.key.first) == [2])

      let event = Event(testing: "ep", of: 1, id: "evt_test", traceparent: nil, now: unixMilliseconds())
      for _ in 1...2 { try await bench.deliveries.test(event, at: "ep", by: "ada") }
      #expect(try await bench.rows() == ["evt_test/ep//1"])
      let found = try await bench.deliveries.overdue(by: .seconds(864_000), limit: 10).deliveries
      #expect(found.map(\.eventId) == ["evt_test"] && found.map(\.endpointId) == ["ep"])
      try await bench.end(try #require(found.first), at: "ep", .delivered)
      // The form is sent again, later than its delivery.
      try await bench.deliveries.test(event, at: "ep", by: "ada")
      #expect(try await bench.rows() == [])
      let audit = "SELECT action || ' ' || split_part(actor, ':', 2) FROM audit WHERE subject = 'ep' ORDER BY id"
      #expect(
        try await bench.ledger.texts(audit) == [
          "endpoint.created ", "endpoint.disabled ada", "endpoint.enabled ada", "endpoint.changed ada",
          "endpoint.tested ada",
        ])
    }
  }

  @Test func `what a person recovers is found by the next sweep`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      let delivery = try await bench.event()
      try await bench.end(delivery, among: ["main"], .abandoned)
      let owed = try await bench.deliveries.owed(publisher: 1, endpoint: "main", since: 0)
      for _ in 1...2 {
        let begun = try await bench.deliveries.recover(owed, publisher: 1, endpoint: "main", isFirst: true, by: "ada")
        #expect(begun.count == 1)
      }
      let found = try await bench.deliveries.overdue(by: .seconds(864_000), limit: 10).deliveries
      #expect(found.map(\.eventId) == ["evt_1"])
      let audit = "SELECT DISTINCT action || ' ' || actor FROM audit"
      #expect(try await bench.ledger.texts(audit) == ["events.recovered operator:ada"])
    }
  }

  // MARK: Notifications

  private func notify(
    _ ledger: PostgresClient, _ publisher: PublisherId, _ uuid: NotificationUUID, minutesAgo: Int64,
    _ more: String = "",
    about original: String? = nil
  ) async throws {
    _ = try await NotificationStore(ledger).keep([
      KeptNotification(
        publisherId: publisher, uuid: uuid, type: "TEST", environment: "Production", bundleId: "app",
        originalTransactionId: original.map { OriginalTransactionId($0) }, signedDate: 1, source: .apple, body: [0x61])
    ])
    try await ledger.execute(
      """
      UPDATE notifications SET received_at = now() - interval '\(minutesAgo) minutes'\(more)
      WHERE publisher_id = \(publisher) AND uuid = '\(uuid)'
      """)
  }

  @Test func `notifications come from the newest on, however far back the next one is`() async throws {
    try await LedgerDatabase.migrated { ledger async throws in
      for (uuid, minutes) in [("a", 1), ("b", 2), ("c", 300), ("d", 4000), ("e", 40_000)] as [(NotificationUUID, Int64)]
      {
        try await notify(ledger, 7, uuid, minutesAgo: minutes)
      }
      try await notify(ledger, 8, "f", minutesAgo: 2)
      try await notify(ledger, 9, "g", minutesAgo: 3)
      let reader = ConsoleNotifications(ledger)
      func pages(_ publishers: [PublisherId], _ choice: ConsoleNotifications.Choice = .all, limit: Int = 2) async throws
        -> [[String]]
      {
        try await all { place in
          try await reader.page(
            choice, of: publishers, after: place, limit: limit, until: .now + .seconds(60))
        }.map { $0.map(\.uuid.text) }
      }
      let both = try await pages([8, 7])
      #expect(
        both.flatMap(\.self) == ["a", "f", "b", "c", "d", "e"]
          || both.flatMap(\.self) == ["a", "b", "f", "c", "d", "e"])
      #expect(both.allSatisfy { $0.count <= 2 } && both.last != [])
      #expect(try await pages([9]) == [["g"]])
      #expect(try await pages([6]) == [[]])
      #expect(try await pages([]) == [[]])
      for number in [Int64.min, -1, .max] {
        for choice in ConsoleNotifications.Choice.allCases {
          _ = try await reader.page(
            choice, of: [7], after: ConsolePlace(number, 7, "x"), limit: 2, until: .now + .seconds(60))
        }
      }
    }
  }

  @Test func `a notification waits, is put aside, is applied, stale, or unclaimed`() async throws {
    try await LedgerOfPurchases.with { given in
      let ledger = given.postgres
      try await given.register("100", for: "ann")
      try await given.register("200", for: .nobody)
      let applied = ", applied_at = now(), due_at = NULL"
      try await notify(ledger, 7, "waiting", minutesAgo: 1)
      try await notify(
        ledger, 7, "aside", minutesAgo: 2, ", due_at = NULL, put_aside_at = now(), put_aside_reason = 'w'")
      try await notify(ledger, 7, "applied", minutesAgo: 3, applied + ", is_news = true", about: "100")
      try await notify(ledger, 7, "stale", minutesAgo: 4, applied + ", is_news = false", about: "200")
      try await notify(ledger, 7, "unclaimed", minutesAgo: 5, applied + ", is_news = true", about: "200")
      let reader = ConsoleNotifications(ledger)
      func page(_ choice: ConsoleNotifications.Choice) async throws -> [ConsoleNotification] {
        try await reader.page(
          choice, of: [7], after: nil, limit: 50, until: .now + .seconds(60)
        ).rows
      }
      let rows = try await page(.all)
      #expect(rows.map(\.state) == [.waiting, .putAside, .applied, .stale, .unclaimed])
      #expect(rows.map(\.uuid) == ["waiting", "aside", "applied", "stale", "unclaimed"])
      #expect(rows[2].purchase == LedgerOfPurchases.key("100") && rows[1].reason == "w" && rows[0].lag == nil)
      #expect(try await page(.waiting).map(\.uuid) == ["waiting"])
      #expect(try await page(.putAside).map(\.uuid) == ["aside"])
      #expect(try await reader.notification(NotificationKey(publisherId: 7, uuid: "stale"))?.state == .stale)
      #expect(try await reader.notification(NotificationKey(publisherId: 8, uuid: "stale")) == nil)
    }
  }

  @Test func `a list of one kind of notifications goes on, however little a page looks through`() async throws {
    try await LedgerOfPurchases.with { given in
      let ledger = given.postgres
      try await given.register("100", for: "ann")
      try await given.register("200", for: .nobody)
      let applied = ", applied_at = now(), due_at = NULL, is_news = "
      for number in 1...9 {
        let isStale = number % 3 == 0
        try await notify(
          ledger, 7, "\(number)", minutesAgo: Int64(number),
          applied + (isStale ? "false" : "true") + (number % 2 == 0 ? ", source = 'history'" : ""),
          about: number % 4 == 0 ? "100" : "200")
      }
      try await notify(ledger, 7, "waiting", minutesAgo: 10)
      try await notify(ledger, 8, "other", minutesAgo: 3, applied + "false, source = 'history'")
      let reader = ConsoleNotifications(ledger)
      func pages(
        _ choice: ConsoleNotifications.Choice, _ publishers: [PublisherId] = [7], limit: Int = 50, window: Int = 100
      ) async throws -> [[String]] {
        try await all { place in
          try await reader.page(
            choice, of: publishers, after: place, limit: limit, until: .now + .seconds(60), window: window)
        }.map { $0.map(\.uuid.text) }
      }
      #expect(try await pages(.stale) == [["3", "6", "9"]])
      #expect(try await pages(.history) == [["2", "4", "6", "8"]])
      // Those of the purchase that ann owns are claimed.
      #expect(try await pages(.unclaimed) == [["1", "2", "5", "7"]])
      #expect(try await pages(.stale, limit: 2) == [["3", "6"], ["9"]])
      #expect(try await pages(.history, limit: 1, window: 3).flatMap(\.self) == ["2", "4", "6", "8"])
      #expect(try await pages(.stale, window: 2).flatMap(\.self) == ["3", "6", "9"])
      #expect(try await Set(pages(.stale, [7, 8], window: 2).flatMap(\.self)) == ["3", "6", "9", "other"])
      #expect(try await pages(.stale, [9]) == [[]])
      let row = try await reader.page(.history, of: [8], after: nil, limit: 5, until: .now + .seconds(60)).rows
      #expect(row.map(\.isFromHistory) == [true] && row.map(\.isKnownKind) == [true])
    }
  }

  // MARK: Synchronizations

  private func wait(_ ledger: PostgresClient, _ publisher: PublisherId, _ id: SynchronizationId, dueIn minutes: Int)
    async throws
  {
    let job = Job(
      synchronizationId: id, publisherId: publisher, customerId: "ann", transactionId: "100", kind: .registration,
      registeredAt: 1000)
    _ = try await ledger.run(
      PostgresQuery(
        .waitInTest,
        [.int64(publisher.number), .text(id.text), .bytes(job.encoded), .int64(Int64(minutes))]))
  }

  @Test func `those that wait come in the order of their next runs, from the publishers that a person may see`()
    async throws
  {
    try await LedgerOfPurchases.with { given in
      let ledger = given.postgres
      try await given.register("100", for: "ann", as: "over")
      for (publisher, id, minutes) in [
        (7, "a", 1), (8, "b", 2), (9, "c", 3), (9, "d", 4), (9, "e", 5), (7, "f", 6), (7, "g", 6), (7, "h", 9),
      ] as [(PublisherId, SynchronizationId, Int)] {
        try await wait(ledger, publisher, id, dueIn: minutes)
      }
      let reader = ConsoleSynchronizations(ledger, doors: Self.noDoors)
      func pages(_ publishers: [PublisherId], limit: Int = 2, window: Int64 = 100) async throws -> [[String]] {
        try await all { try await reader.waiting(of: publishers, after: $0, limit: limit, window: window) }
          .map { $0.map(\.id.text) }
      }
      #expect(try await pages([7, 8]) == [["a", "b"], ["f", "g"], ["h"]])
      #expect(try await pages([9]) == [["c", "d"], ["e"]])
      #expect(try await pages([]) == [[]])
      // However little a page looks through, nothing is left out.
      #expect(try await Set(pages([7, 8], window: 2).flatMap(\.self)) == ["a", "b", "f", "g", "h"])
      #expect(try await Set(pages([8], limit: 5, window: 1).flatMap(\.self)) == ["b"])
      for number in [Int64.min, -1, .max] {
        _ = try await reader.waiting(of: [7], after: ConsolePlace(number, 7, "x"), limit: 2)
      }
      let one = try #require(try await reader.waiting(of: [8], after: nil, limit: 1).rows.first)
      #expect(one.registeredAt == 1000 && one.job?.synchronizationId == "b" && one.customerId == "ann")
      #expect(one.purchase == nil && one.finalizedAt == nil)
      // A page may end at any row.
      let two = try await reader.waiting(of: [7, 8], after: nil, limit: 3).rows
      #expect(try await reader.waiting(of: [7, 8], after: two[1].place, limit: 3).rows.map(\.id) == ["f", "g", "h"])
      let over = try await reader.synchronizations(7, "over")
      #expect(over.map(\.purchase) == [LedgerOfPurchases.key("100")] && over.first?.result != nil)
      #expect(over.first?.eventId != nil && over.first?.job == nil && over.first?.place == nil)
      #expect(try await reader.synchronizations(8, "over") == [])
    }
  }
}

extension PostgresStatement {
  fileprivate static let waitInTest = PostgresStatement(
    "wait in a test",
    """
    INSERT INTO synchronizations (publisher_id, id, transaction_id, customer_id, kind, status, job, due_at)
    VALUES ($1, $2, '100', 'ann', 'registration', 'retrying', $3, now() + $4 * interval '1 minute')
    """)
}
