import Coordination
import Domain
import Formats
import JSON
import Service

/// The fleet as it is now: what needs somebody, which processes there are, what waits, and what is left of Apple's
/// budgets.
///
/// It tells hosts and versions, so processes are for operators who see all publishers.
struct FleetPage {
  let view: ConsoleView
  let question: ListQuestion
  /// What the processes told last; empty for somebody who may not see them.
  var beats: [FleetBeat] = []
  /// Synchronizations under way, and jobs in the line for Apple, by lane.
  var lanes: [Lane] = []
  var budgets: [CallBudgetState] = []
  /// What the servers hold; `nil` for what they did not tell.
  var servers = FleetServers()
  /// Whether there are more apps than the page asks about.
  var hasMoreApps = false

  struct Lane: Sendable, Equatable {
    let lane: JobLane
    let open: Int
    let inLine: Int
  }

  /// The page asks about the budgets of so many apps at most.
  static let mostApps = 200
  /// With `?live=1` a browser loads the page again after so many seconds.
  static let seconds = LiveRegion.alarms.seconds

  /// Whether a person may see hosts and versions.
  static func showsProcesses(to person: ConsolePerson) -> Bool {
    person.role == .operator && person.publishers == .all
  }

  private var showsProcesses: Bool { Self.showsProcesses(to: view.person) }
  var isLive: Bool { question.filters["live"] == "1" }
  private var page: ListPage { ListPage(view: view, list: .fleet, question: question) }
  private var alarms: [FleetAlarm] { showsProcesses ? FleetAlarm.all(of: beats) : [] }

  var html: Document {
    page.html(
      lead: "The processes that run now, what waits for them, and what is left of Apple's budgets.",
      table: .all([
        isLive ? live : .element(.noscript, [], [live]), view.region(.alarms, needs),
        view.region(.processes, processes), view.region(.servers, serverTable), view.region(.queues, waiting),
        view.region(.budgets, budgetTable),
      ]), empty: "")
  }

  /// For browsers without JavaScript.
  private var live: HTML {
    let other = view.link(
      [ConsoleList.fleet.rawValue],
      query: (question.publisher.map { [(name: "publisher", value: "\($0)")] } ?? [])
        + (isLive ? [] : [(name: "live", value: "1")]))
    return .p(
      .text(isLive ? "The page loads again every \(Self.seconds) seconds. " : ""),
      .link(other, isLive ? "Stop" : "Load again every \(Self.seconds) seconds"), class: "none")
  }

  // MARK: What needs somebody

  private var needs: HTML {
    guard showsProcesses else { return .nothing }
    guard !alarms.isEmpty else {
      return .section("Needs somebody", [.p(.text("Nothing: each process says that it is well."), class: "none")])
    }
    return .section(
      "Needs somebody",
      [
        .table(
          "What is wrong now", ["What", "Alert", "What to do"],
          alarms.map { alarm in
            [.text(alarm.words), .code(alarm.alert), .code("docs/operate/runbooks/\(alarm.runbook).md")]
          })
      ])
  }

  // MARK: Processes

  private static let order = ["gateway", "worker", "notifier", "console"]

  private var sorted: [FleetBeat] {
    func rank(_ beat: FleetBeat) -> Int { Self.order.firstIndex(of: beat.role) ?? Self.order.count }
    return beats.sorted { (rank($0), $0.place, $0.id) < (rank($1), $1.place, $1.id) }
  }

  private var processes: HTML {
    guard showsProcesses else {
      let words = "Only operators who see all publishers see the processes."
      return .section("Processes", [.p(.text(words), class: "none")])
    }
    guard !beats.isEmpty else {
      return .section("Processes", [.p(.text("No process has reported to Redis."), class: "none")])
    }
    return .section(
      "Processes",
      [
        .table(
          "Each process reports every five seconds",
          ["Role", "Process", "State", "In use", "Processor", "Memory", "Slowest turn", "Version", "Started"],
          sorted.map { beat in
            [
              .text(beat.role), .code(beat.place), state(beat), places(beat), share(beat.value(FleetHeart.cpu)),
              beat.value("countersign_process_resident_memory_bytes").map { .text(ConsoleNumber.mebibytes($0)) }
                ?? .text("–"), turn(beat.value(FleetHeart.longestTurn)), .text(beat.version),
              view.time(beat.startedAt),
            ]
          })
      ])
  }

  private func state(_ beat: FleetBeat) -> HTML {
    if beat.isSilent { return .span("silent for \(ConsoleTime.duration(beat.silence))", class: "mark bad") }
    guard !beat.troubles.isEmpty else { return .span("well", class: "mark good") }
    return .all(beat.troubles.map { .element(.div, [.class("detail")], [.text($0)]) })
  }

  /// The number that says how busy a process is: jobs of places, deliveries, requests.
  private func places(_ beat: FleetBeat) -> HTML {
    if let places = beat.value("countersign_job_slots"), let jobs = beat.value("countersign_jobs_in_flight") {
      return .all([
        meter(jobs, of: places), .text(" \(ConsoleNumber.text(jobs)) of \(ConsoleNumber.text(places)) jobs"),
      ])
    }
    if let deliveries = beat.value("countersign_deliveries_in_flight") {
      let waiting = beat.value("countersign_deliveries_waiting") ?? 0
      return .text("\(ConsoleNumber.text(deliveries)) deliveries, \(ConsoleNumber.text(waiting)) wait")
    }
    guard let connections = beat.value("countersign_http_connections") else { return .text("–") }
    return .text("\(ConsoleNumber.text(connections)) connection\(connections == 1 ? "" : "s")")
  }

  private func share(_ share: Double?) -> HTML {
    guard let share else { return .text("–") }
    return .all([meter(share, of: 1), .text(" \(ConsoleNumber.text(share * 100)) %")])
  }

  private func turn(_ seconds: Double?) -> HTML {
    guard let seconds else { return .text("–") }
    let words = ConsoleTime.milliseconds(Int64(clamping: seconds * 1000))
    return seconds > 0.1 ? .span(words, class: "mark bad") : .text(words)
  }

  /// A bar as wide as a share: empty at 0, full at the whole. The number stands beside it.
  private func meter(_ value: Double, of whole: Double) -> HTML {
    let width = whole > 0 && value.isFinite ? Int64(clamping: min(1, max(0, value / whole)) * 60) : 0
    func bar(_ name: String, _ width: Int64) -> HTML {
      .element(
        .rect,
        [
          .class(name), .of(.x, "0"), .of(.y, "0"), .of(.width, "\(width)"), .of(.height, "8"), .of(.rx, "2"),
        ])
    }
    return .element(
      .svg, [.class("meter"), .of(.viewBox, "0 0 60 8"), .of(.hidden, "true")],
      [bar("all", 60), bar(width > 51 ? "full" : "part", width)])
  }

  // MARK: Servers

  private var serverTable: HTML {
    guard showsProcesses, !beats.isEmpty else { return .nothing }
    return .section(
      "Ledger, Redis and RabbitMQ",
      [
        .table(
          "Connections of the processes that are not silent", ["Server", "Connections up", "It holds"],
          servers.rows(beats).map { row in
            [
              .text(row.name),
              .span("\(row.up) of \(row.all)", class: row.up == row.all ? "mark good" : "mark bad"),
              row.holds.map { .text($0) } ?? .span("not reported", class: "none"),
            ]
          })
      ])
  }

  // MARK: What waits

  private var waiting: HTML {
    let queues = FleetAlarm.deepest("countersign_queue_messages", beats.filter { !$0.isSilent })
    let facts = lanes.map { lane in
      (
        lane.lane == .usual ? "Registrations and looks" : "In bulk",
        HTML.text(
          "\(ConsoleNumber.text(Double(lane.open))) under way, \(ConsoleNumber.text(Double(lane.inLine))) of them in "
            + "the line for a call to Apple")
      )
    }
    let depths = queues.map { queue in
      [HTML.code(queue.label), .text(ConsoleNumber.text(queue.value))]
    }
    return .section(
      "What waits",
      [
        .facts(facts),
        depths.isEmpty ? .nothing : .table("Messages that wait at RabbitMQ", ["Queue", "Messages"], depths),
      ])
  }

  // MARK: Apple's budgets

  private var budgetTable: HTML {
    let used = budgets.filter(\.isInUse)
    let more = hasMoreApps ? "The page shows \(Self.mostApps) apps. Choose a publisher to see its apps." : nil
    let hint = more.map { HTML.p(.text($0), class: "none") } ?? .nothing
    guard !used.isEmpty else {
      let words = "No call was made within the last second, and Apple forbids none."
      return .section("Apple's budgets", [.p(.text(words), class: "none"), hint])
    }
    return .section(
      "Apple's budgets",
      [
        .table(
          "Calls that may be made now, of those of one second", ["App", "Environment", "Endpoint", "Left", "State"],
          used.map { state in
            let rate = max(1, state.budget.perSecond)
            return [
              .code(state.place.bundleId.text), .text(state.place.environment.text), .text(state.budget.endpoint),
              .all([
                meter(state.left, of: rate),
                .text(" \(ConsoleNumber.text(state.left.rounded(.down))) of \(ConsoleNumber.text(rate))"),
              ]),
              state.pausedUntil.map {
                .all([.span("paused by Apple", class: "mark bad"), .text(" until "), view.clock($0)])
              }
                ?? .text("in use"),
            ]
          }), hint,
      ])
  }

  // MARK: As JSON

  var json: [UInt8] {
    JSONWriter.object { writer in
      writer.member("alarms", alarms) { alarm, writer in
        writer.member("alert", alarm.alert)
        writer.member("runbook", "docs/operate/runbooks/\(alarm.runbook).md")
        writer.member("what", alarm.words)
      }
      writer.member("budgets", budgets.filter(\.isInUse)) { state, writer in
        writer.member("bundleId", state.place.bundleId)
        writer.member("endpoint", state.budget.endpoint)
        writer.member("environment", state.place.environment.text)
        writer.member("left", Int64(clamping: state.left))
        writer.member("pausedUntil", state.pausedUntil.map { rfc3339(milliseconds: $0) })
        writer.measure("perSecond", state.budget.perSecond)
      }
      writer.member("hasMoreApps", hasMoreApps)
      writer.member("lanes", lanes) { lane, writer in
        writer.member("inLine", Int64(lane.inLine))
        writer.member("lane", lane.lane.rawValue)
        writer.member("open", Int64(lane.open))
      }
      guard showsProcesses else { return }
      writer.member("processes", sorted) { beat, writer in
        writer.measure("connections", beat.value("countersign_http_connections"))
        writer.measure("deliveries", beat.value("countersign_deliveries_in_flight"))
        writer.measure("deliveriesWaiting", beat.value("countersign_deliveries_waiting"))
        writer.member("heardAt", rfc3339(milliseconds: beat.heardAt))
        writer.member("isSilent", beat.isSilent)
        writer.measure("jobs", beat.value("countersign_jobs_in_flight"))
        writer.measure("jobSlots", beat.value("countersign_job_slots"))
        writer.member("place", beat.place)
        writer.measure("processorShare", beat.value(FleetHeart.cpu))
        writer.measure("residentBytes", beat.value("countersign_process_resident_memory_bytes"))
        writer.member("role", beat.role)
        writer.measure("slowestTurnSeconds", beat.value(FleetHeart.longestTurn))
        writer.member("startedAt", rfc3339(milliseconds: beat.startedAt))
        writer.member("troubles", array: beat.troubles.map { JSONWriter.text($0) })
        writer.member("version", beat.version)
      }
      writer.member("queues", FleetAlarm.deepest("countersign_queue_messages", beats)) { queue, writer in
        writer.member("messages", Int64(clamping: queue.value))
        writer.member("queue", queue.label)
      }
      writer.member("servers", servers.rows(beats)) { row, writer in
        writer.member("connections", Int64(row.all))
        writer.member("connectionsUp", Int64(row.up))
        writer.member("holds", row.holds)
        writer.member("server", row.name)
      }
    }
  }
}
