import Coordination
import Crypto
import Domain
import DomainSupport
import Foundation
import Service
import TestSupport
import Testing

@testable import Console

/// The page about the fleet: what needs somebody, and what each process tells.
struct FleetPageTests {
  private static let now = AnsweredPurchases.now
  private static let evil = "<script>alert('x')</script>\"&"

  private static func beat(
    _ role: String = "worker", silent: Int64 = 0, troubles: [String] = [], _ readings: [FleetBeat.Reading] = []
  ) -> FleetBeat {
    var beat = FleetBeat(
      id: role, role: role, version: "0.1.0", place: "host:7", startedAt: now - 60_000, troubles: troubles,
      readings: readings)
    (beat.heardAt, beat.readAt) = (now - silent, now)
    return beat
  }

  /// A fleet that is well, with what one process tells besides.
  private static func alarms(_ readings: FleetBeat.Reading...) -> [FleetAlarm] {
    FleetAlarm.all(of: [beat("gateway"), beat("worker", readings)])
  }

  private static func page(
    _ role: ConsoleRole = .operator, of publishers: SeenPublishers = .all, live: Bool = false,
    _ beats: [FleetBeat] = [],
    budgets: [CallBudgetState] = []
  ) throws -> FleetPage {
    let person = ConsolePerson(name: "ada", role: role, publishers: publishers, password: try Scrypt.ofNobody())
    return FleetPage(
      view: ConsoleView(prefix: "/c", person: person, now: now),
      question: ListQuestion(choices: [7], filters: live ? ["live": "1"] : [:]), beats: beats,
      lanes: [FleetPage.Lane(lane: .usual, open: 12_345, inLine: 3), FleetPage.Lane(lane: .bulk, open: 0, inLine: 0)],
      budgets: budgets)
  }

  @Test func `a fleet that is well has no alarm`() {
    #expect(FleetAlarm.all(of: [Self.beat("gateway"), Self.beat("worker"), Self.beat("notifier")]) == [])
    #expect(Self.alarms(.init("countersign_refund_deadline_seconds", [], 43_200)) == [])
    #expect(Self.alarms(.init("countersign_connection_up", ["subscriber billing"], 0)) == [])
  }

  @Test(
    arguments: [
      (.init("countersign_connection_up", ["ledger"], 0), "ledger-away", "no connection to the ledger"),
      (.init("countersign_connection_up", ["consume"], 0), "connection-down", "no connection consume"),
      (.init("countersign_redis_writes_refused", ["OOM"], 1), "redis-refuses-writes", "OOM"),
      (.init("countersign_redis_evicts", [], 1), "redis-evicts", "delete keys"),
      (.init("countersign_configuration_current", [], 0), "configuration-refused", "present configuration"),
      (.init(FleetHeart.longestTurn, [], 1.5), "loop-stalls", "stood still"),
      (.init(FleetHeart.droppedLines, [], 1), "log-lines-dropped", "dropped lines"),
      (.init("countersign_jwks_overdue_seconds", [], 901), "key-set-overdue", "identity provider"),
      (.init("countersign_apple_refused_apps", [], 1), "apple-refuses-key", "the key of 1 app."),
      (.init("countersign_publishers_broken", ["absent"], 2), "publisher-broken", "2 publishers cannot be served"),
      (.init("countersign_publishers_broken", ["kept"], 1), "publisher-broken", "the changes of 1 publisher out"),
      (.init("countersign_dead_messages", ["c.jobs.dead"], 1), "dead-jobs", "1 message in c.jobs.dead"),
      (.init("countersign_dead_messages", ["c.notifier.dead"], 2000), "dead-deliveries", "2,000 messages"),
      (.init("countersign_notifications_put_aside", [], 1), "put-aside", "1 notification put aside"),
      (.init("countersign_timer_backlog_seconds", [], 3601), "timers-late", "1\u{a0}h\u{a0}0\u{a0}min"),
      (.init("countersign_refund_deadline_seconds", [], 10_799), "refund-requests", "refund"),
      (.init("countersign_history_gap_seconds", [], 21_601), "notifications", "History"),
      (.init("countersign_silent_apps", ["Production"], 1), "notifications", "1 app."),
      (.init("countersign_subscriber_oldest_owed_seconds", ["billing"], 601), "subscriber-behind", "billing"),
    ] as [(FleetBeat.Reading, String, String)])
  func `a reading beyond its limit is an alarm with its runbook`(
    reading: FleetBeat.Reading, runbook: String, words: String
  ) throws {
    let alarms = Self.alarms(reading)
    #expect(alarms.map(\.runbook) == [runbook])
    let alarm = try #require(alarms.first)
    #expect(alarm.words.contains(words), "\(alarms)")
    #expect(try Self.isAlert(alarm))
  }

  /// Whether Prometheus has the same alert, with the same runbook.
  private static func isAlert(_ alarm: FleetAlarm) throws -> Bool {
    let file = try String(contentsOfFile: Repository.root + "/ops/prometheus/alerts.yml", encoding: .utf8)
    let rules = file.components(separatedBy: "- alert: ")
    return rules.contains {
      $0.hasPrefix("\(alarm.alert)\n") && $0.contains("runbook: docs/operate/runbooks/\(alarm.runbook).md\n")
    }
  }

  @Test func `who is silent or missing is an alarm, and what it told no longer counts`() throws {
    let refused = FleetBeat.Reading("countersign_apple_refused_apps", [], 1)
    let silent = FleetAlarm.all(of: [Self.beat("gateway"), Self.beat("worker", silent: 20_000, [refused])])
    #expect(silent.map(\.words) == ["The worker host:7 has been silent for 20\u{a0}s.", "No worker runs."])
    #expect(try silent.allSatisfy { try $0.runbook == "role-down" && Self.isAlert($0) })
    // A console is no reason to wake anybody, so it has an alert of its own.
    let console = FleetAlarm.all(of: [
      Self.beat("gateway"), Self.beat("worker"), Self.beat("console", silent: 20_000),
    ])
    #expect(console.map(\.alert) == ["CountersignConsoleDown"] && silent[0].alert == "CountersignRoleDown")
    #expect(try console.allSatisfy { try $0.runbook == "role-down" && Self.isAlert($0) })
    #expect(FleetAlarm.all(of: [Self.beat("gateway"), Self.beat("worker", silent: 19_999)]) == [])
    #expect(FleetAlarm.all(of: []).count == 2)
  }

  @Test func `numbers that nobody can count end nothing`() {
    for number in [Double.nan, .infinity, -.infinity, 1e300, -1e300] {
      for name in ["countersign_dead_messages", "countersign_timer_backlog_seconds", "countersign_publishers_broken"] {
        _ = FleetAlarm.all(of: [Self.beat("worker", [FleetBeat.Reading(name, ["x"], number)])])
      }
      #expect(!ConsoleNumber.text(number).isEmpty)
    }
    #expect(ConsoleNumber.text(1_234_567.4) == "1,234,567" && ConsoleNumber.text(-1234) == "-1,234")
    #expect(ConsoleNumber.text(999) == "999" && ConsoleNumber.text(0) == "0")
  }

  @Test func `what a process tells stays text`() throws {
    let beat = Self.beat(
      Self.evil, troubles: [Self.evil],
      [
        .init("countersign_job_slots", [], 266), .init("countersign_jobs_in_flight", [], .infinity),
        .init("countersign_queue_messages", [Self.evil], 5), .init(FleetHeart.cpu, [], 0.5),
        .init(FleetHeart.longestTurn, [], 0.2), .init("countersign_connection_up", [Self.evil], 0),
      ])
    let html = try Self.page(.operator, [beat, Self.beat("worker", silent: 60_000)]).html
    #expect(!html.contains("<script") && html.contains("&lt;script&gt;"))
    #expect(html.contains("silent for 1\u{a0}min") && html.contains("12,345 under way, 3 of them"))
    #expect(html.contains("200\u{a0}ms") && html.contains(" 50 %"))
  }

  @Test(
    arguments: [
      (.viewer, .all), (.support, .all), (.operator, .only([7])),
    ] as [(ConsoleRole, SeenPublishers)])
  func `only operators of all publishers see processes`(role: ConsoleRole, publishers: SeenPublishers) throws {
    let page = try Self.page(role, of: publishers, [Self.beat("gateway")])
    #expect(!page.html.contains("host:7") && page.html.contains("12,345 under way"))
    let json = String(decoding: page.json, as: UTF8.self)
    #expect(!json.contains("host:7") && json.contains(#""alarms":[]"#))
    #expect(try Self.page(.operator, [Self.beat("gateway")]).html.contains("host:7"))
    #expect(String(decoding: try Self.page(.operator, [Self.beat("gateway")]).json, as: UTF8.self).contains("host:7"))
  }

  @Test func `the servers say how they are, also when they are well`() throws {
    func up(_ label: String, _ value: Double) -> FleetBeat.Reading {
      FleetBeat.Reading("countersign_connection_up", [label], value)
    }
    let beats = [
      Self.beat("gateway", [up("ledger", 1), up("redis", 1), up("publish", 0), up("subscriber billing", 0)]),
      Self.beat("worker", [up("ledger", 1), up("consume", 1)]),
      Self.beat("notifier", silent: 60_000, [up("ledger", 0)]),
    ]
    let servers = FleetServers(ledgerBytes: 5 << 30, redisBytes: 3 << 20, redisLimit: 64 << 20)
    let rows = servers.rows(beats)
    #expect(rows.map(\.name) == ["Ledger", "Redis", "RabbitMQ"])
    #expect(rows.map(\.up) == [2, 1, 1] && rows.map(\.all) == [2, 1, 2])
    #expect(rows[0].holds == "5,120\u{a0}MiB" && rows[1].holds == "3\u{a0}MiB of 64\u{a0}MiB")
    #expect(FleetServers().rows([]).map(\.holds) == [nil, nil, "see “What waits”"])
    var page = try Self.page(.operator, beats)
    page.servers = servers
    #expect(page.html.contains("mark good\">2 of 2") && page.html.contains("mark bad\">1 of 2"))
    #expect(String(decoding: page.json, as: UTF8.self).contains(#""connections":2,"connectionsUp":1"#))
    var support = try Self.page(.support, beats)
    support.servers = servers
    #expect(!support.html.contains("5,120") && !String(decoding: support.json, as: UTF8.self).contains("5,120"))
  }

  @Test(
    arguments: [
      ("# Memory\r\nused_memory:1048576\r\nused_memory_rss:7\r\nmaxmemory:0\r\n", 1_048_576, nil),
      ("used_memory:5\nmaxmemory:9", 5, 9), ("used_memory:x\nmaxmemory:-1", nil, nil), ("", nil, nil),
      ("used_memory:99999999999999999999", nil, nil),
    ] as [(String, Int64?, Int64?)])
  func `Redis says what it uses`(info: String, used: Int64?, most: Int64?) {
    let memory = FleetServers.memory(ofInfo: info)
    #expect(memory.used == used && memory.most == most)
  }

  @Test func `the page is loaded again on demand`() throws {
    #expect(try Self.page(live: true).isLive)
    #expect(try !Self.page().isLive)
    #expect(try Self.page().html.contains("href=\"/c/fleet?live=1\""))
    #expect(try Self.page(live: true).html.contains("href=\"/c/fleet\">Stop"))
  }
}
