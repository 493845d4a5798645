import EventLoop
import Fleets
import HTTP
import ServerSupport
import Simulator
import TestSupport
import Testing

/// *Ask Apple* on a purchase's page: what Apple says is shown, and applied only if the person wants it.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ConsoleAskTests {
  private typealias Fields = [(name: String, value: String)]
  private static let (preview, ask, confirm): (Fields, Fields, Fields) = (
    [(name: "step", value: "preview")], [(name: "step", value: "ask")], [(name: "step", value: "confirm")]
  )

  private static let life = "20000000000700"

  /// The page of a purchase, and the address of the action.
  private func purchase(
    _ browser: ConsoleTests.Browser, _ id: String = "1000000000001"
  ) async throws -> (page: String, check: String) {
    let page = try #require(try await browser.get("/find?q=\(id)").location)
    return (page, page + "/check")
  }

  private func version(_ fleet: RunningFleet) async throws -> [String] {
    try await fleet.texts("SELECT version::text AS text FROM purchases ORDER BY original_transaction_id")
  }

  private func calls(_ fleet: RunningFleet, _ outcome: String) async throws -> Double {
    let labels = "{endpoint=\"subscription-statuses\",environment=\"Production\",outcome=\"\(outcome)\"}"
    return try await fleet.metric("console-1", "countersign_apple_call_duration_seconds_count\(labels)")
  }

  @Test func `support sees what Apple says, and applies it`() async throws {
    let console = ConsoleTests()
    try await console.withConsole { fleet in
      try await fleet.begin(lives: ["{\"originalTransactionId\": \"\(Self.life)\", \"periodSeconds\": 3600}"])
      #expect(try await fleet.register(Self.life, id: "s-life").status == 202)
      _ = try await fleet.finished(["s-life"])
      let support = try await console.signIn(fleet, "ada")
      let (page, check) = try await purchase(support, Self.life)
      let ada = ConsoleTests.Form(fleet: fleet, browser: support)
      for (name, status) in [("vic", 403), ("other", 404)] {
        let stranger = ConsoleTests.Form(fleet: fleet, browser: try await console.signIn(fleet, name))
        for step in [Self.preview, Self.ask, Self.confirm] {
          #expect(try await stranger.post(check, step).status == status, "\(name)")
        }
      }
      #expect(try await ada.post(check, Self.ask, []).status == 403)
      #expect(try await support.get(page).text.contains("Ask Apple …"))
      // The first page asks nothing yet.
      let question = try await ada.post(check, Self.preview)
      #expect(question.status == 200 && question.text.contains("Ask Apple?"), "\(question.text)")
      #expect(try await calls(fleet, "ok") == 0)

      // No worker is there that could learn of the refund by itself.
      await fleet.kill("worker-1")
      // PostgreSQL may still commit what the worker has sent.
      let sessions =
        "SELECT pid::text AS text FROM pg_stat_activity WHERE datname = current_database() "
        + "AND application_name LIKE 'countersign worker%'"
      try await eventually("the ledger has ended the worker's sessions") { try await fleet.texts(sessions) == [] }
      let before = try await version(fleet)
      #expect(try await fleet.act("refund", on: Self.life))
      for asked in 1...2 {
        let told = try await ada.post(check, Self.ask)
        #expect(told.status == 200 && told.text.contains("Apple says something else"), "\(told.text)")
        for words in ["The purchase would no longer give access", "Refunded", "revoked", "Apply it"] {
          #expect(told.text.contains(words), "\(words): \(told.text)")
        }
        #expect(try await calls(fleet, "ok") == Double(asked))
      }
      // What was shown is not applied.
      #expect(try await version(fleet) == before)
      #expect(try await support.get(page).text.contains("Gives access"))
      #expect(try await fleet.texts("SELECT action AS text FROM audit WHERE action = 'purchase.checked'") == [])

      #expect(try await ada.post(check, Self.confirm).location == page)
      #expect(try await version(fleet) == before)
      try fleet.start("worker-1")
      try await fleet.ready("worker-1")
      try await eventually("a worker has asked Apple, and the access ends") {
        let text = try await support.get(page).text
        return text.contains("Gives no access") && text.contains("A worker looked at it last")
      }
      let again = try await ada.post(check, Self.ask)
      #expect(again.status == 200 && again.text.contains("Apple says the same"), "\(again.text)")
      let early = try await ada.post(check, Self.confirm)
      #expect(early.status == 409 && early.text.contains("less than a minute ago"), "\(early.text)")
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, actor) AS text FROM audit WHERE action = 'purchase.checked'")
      #expect(entries == ["purchase.checked operator:ada"])
      #expect(fleet.log("console-1").contains("asked Apple about a purchase at the console"))
    }
  }

  @Test func `while Apple cannot be asked, the page says what to do`() async throws {
    let console = ConsoleTests()
    try await console.withConsole { fleet in
      let support = try await console.signIn(fleet, "ada")
      let (page, check) = try await purchase(support)
      let ada = ConsoleTests.Form(fleet: fleet, browser: support)
      let before = try await version(fleet)
      let weathers: [(Simulator.Weather, Int, String)] = [
        (.failing, 503, "Apple did not answer"), (.unauthorized, 503, "Apple refuses the key"),
        (.refusing(code: 4_000_002), 503, "Apple refuses the key"), (.forged, 503, "Apple&#39;s answer cannot be used"),
        (.interrupted, 503, "Apple did not answer"),
      ]
      for (weather, status, words) in weathers {
        fleet.simulator.weather = weather
        let answer = try await ada.post(check, Self.ask)
        #expect(answer.status == status && answer.text.contains(words), "\(weather): \(answer.text)")
        #expect(answer.text.contains("Synchronize it"), "\(weather)")
      }
      // The subscriptions do not name it, or do not know it: its transaction tells the same.
      for weather in [Simulator.Weather.unnamed, .behind] {
        fleet.simulator.weather = weather
        let answer = try await ada.post(check, Self.ask)
        #expect(answer.status == 200 && answer.text.contains("Apple says the same"), "\(weather): \(answer.text)")
      }
      // Apple's 429 stops the fleet: the next question makes no call.
      fleet.simulator.weather = .rateLimited(milliseconds: 600_000)
      for _ in 1...2 {
        let answer = try await ada.post(check, Self.ask)
        #expect(answer.status == 429 && answer.text.contains("Too many calls to Apple"), "\(answer.text)")
      }
      #expect(try await calls(fleet, "rate_limited") == 1)
      #expect(try await version(fleet) == before)

      // A worker does it later.
      fleet.simulator.weather = .fair
      #expect(try await ada.post(check, Self.confirm).location == page)
      let entries = try await fleet.texts("SELECT actor AS text FROM audit WHERE action = 'purchase.checked'")
      #expect(entries == ["operator:ada"])
    }
  }
}
