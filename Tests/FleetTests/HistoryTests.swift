import Domain
import EventLoop
import Fleets
import FoundationEssentials
import Glibc
import HTTP
import ServerSupport
import Simulator
import TestSupport
import Testing

/// What did not arrive is read in Apple's Notification History.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct HistoryTests {
  private static let often = ["COUNTERSIGN_WORKER_HISTORY_INTERVAL_SECONDS": "1"]
  private static let readings = "countersign_history_readings_total"

  /// The sum of a metric over all workers.
  private func sum(_ fleet: RunningFleet, _ metric: String, of workers: [String]) async throws -> Double {
    var sum = 0.0
    for worker in workers { sum += try await fleet.metric(worker, metric) }
    return sum
  }

  @Test func `lost notifications are found and applied, page by page and once`() async throws {
    let workers = ["worker-1", "worker-2"]
    try await RunningFleet.with(["gateway-1"] + workers, overrides: Self.often, hasDoors: false) { fleet in
      try await fleet.postNotifications("\"lose\": 1")
      let ids = (10...60).map { "20000000000000\($0)" }
      try await fleet.begin(
        lives: ids.map { "{\"originalTransactionId\": \"\($0)\", \"kind\": \"nonConsumable\"}" })
      for id in ids { try await eventually("\(id) is in the ledger") { try await fleet.told(id) != nil } }
      #expect(try await fleet.act("refund", on: ids[20]))
      try await eventually("the refund is known") { try await fleet.told(ids[20])?.revocationDate != nil }
      // Two publishers have the app. Each has each notification once, whoever reads.
      let new = "countersign_history_notifications_total{outcome=\"new\"}"
      try await eventually("both publishers have everything") {
        try await sum(fleet, new, of: workers) == Double(2 * (ids.count + 1))
      }
      let complete = "\(Self.readings){outcome=\"complete\"}"
      let before = try await sum(fleet, complete, of: workers)
      try await eventually("readings go on") { try await sum(fleet, complete, of: workers) > before + 3 }
      #expect(try await sum(fleet, new, of: workers) == Double(2 * (ids.count + 1)))
      // The first reading has ended. What gets lost from now on is news, also of a purchase that nobody owns.
      let late = "20000000000061"
      try await fleet.begin(lives: ["{\"originalTransactionId\": \"\(late)\", \"kind\": \"nonConsumable\"}"])
      try await eventually("the late purchase is told") {
        let isIt = "topic = 'purchaseUpdated' AND position('\(late)' in convert_from(body, 'UTF8')) > 0"
        return try await fleet.count("events WHERE \(isIt)") > 0
      }
      #expect(try await sum(fleet, "countersign_history_notifications_total{outcome=\"refused\"}", of: workers) == 0)
      #expect(try await sum(fleet, "countersign_notifications_applied_total{outcome=\"refused\"}", of: workers) == 0)
    }
  }

  /// Adds a publisher with a key that Apple refuses.
  private static func addWrongKey(_ fleet: RunningFleet) throws {
    let app = RunningFleet.releasedApp.replacing("\"issuer\"", with: "\"nobody\"")
    try fleet.writePublisher(1004, "\"apps\": [\(app)], \"offers\": []")
  }

  @Test func `a refused key leaves a gap, and does not stop the other readings`() async throws {
    try await RunningFleet.with(
      ["gateway-1", "worker-1"], overrides: Self.often, hasDoors: false,
      prepare: Self.addWrongKey
    ) { fleet in
      let (failed, complete) = ("\(Self.readings){outcome=\"unauthorized\"}", "\(Self.readings){outcome=\"complete\"}")
      // It is tried again at the next interval: in production and in the sandbox.
      try await eventually("the key is refused again") { try await fleet.metric("worker-1", failed) >= 3 }
      let before = try await fleet.metric("worker-1", complete)
      try await eventually("others are read") { try await fleet.metric("worker-1", complete) > before }
      // Nothing of what Apple has was read for this publisher.
      #expect(try await fleet.metric("worker-1", "countersign_history_gap_seconds") >= 179 * 86_400)
    }
  }

  /// Adds a publisher, with this id of the app.
  private static func addApp(_ id: String) -> @LoopActor (RunningFleet) throws -> Void {
    { fleet in
      let app = RunningFleet.releasedApp.replacing("1234567890", with: id)
      try fleet.writePublisher(1004, "\"apps\": [\(app)], \"offers\": []")
    }
  }

  @Test func `with a wrong id of the app a reading is not complete, until somebody mends the file`() async throws {
    try await RunningFleet.with(
      ["gateway-1", "worker-1"], overrides: Self.often, hasDoors: false, prepare: Self.addApp("1234567891")
    ) { fleet in
      try await fleet.postNotifications("\"lose\": 1")
      let life = "20000000000009"
      try await fleet.begin(lives: ["{\"originalTransactionId\": \"\(life)\", \"kind\": \"nonConsumable\"}"])
      let refused = "\(Self.readings){outcome=\"refused\"}"
      try await eventually("it is refused again and again") { try await fleet.metric("worker-1", refused) >= 2 }
      #expect(try await fleet.appliedNotifications(of: 1004) == 0)
      try Self.addApp("1234567890")(fleet)
      fleet.roles["worker-1"]?.process.send(SIGHUP)
      try await eventually("it is read") { try await fleet.appliedNotifications(of: 1004) == 1 }
    }
  }

  /// Runs `countersign test-notification`.
  private func test(_ fleet: RunningFleet, _ arguments: [String]) async throws -> (status: Int32, text: String) {
    let output = fleet.folder + "/test-notification-\(UUID().uuidString)"
    let process = try ChildProcess(
      Repository.products + "/countersign",
      ["test-notification", "--config", fleet.folder + "/countersign.json"] + arguments, output: output)
    let status = try await process.ended()
    return (status, String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self))
  }

  @Test func `the command tells whether the URL works`() async throws {
    try await RunningFleet.with(["gateway-1"], hasDoors: false) { fleet in
      let without = try await test(fleet, ["--app", "com.example.app"])
      #expect(without.status == 1 && without.text.contains("has no URL"), "\(without)")
      try await fleet.postNotifications()
      for environment in ["production", "sandbox"] {
        let good = try await test(fleet, ["--app=com.example.app", "--environment", environment])
        #expect(good.status == 0 && good.text.contains("ok: Apple posted the test"), "\(good)")
      }
      let wrong = fleet.url("/nowhere")
      let set = await fleet.simulator.control("PUT", "/simulator/notifications", "{\"urls\": [\"\(wrong)\"]}")
      #expect(set.status == 200)
      let bad = try await test(fleet, ["--app", "com.example.app", "--publisher", "1002"])
      #expect(bad.status == 1 && bad.text.contains("UNSUCCESSFUL_HTTP_RESPONSE_CODE"), "\(bad)")
      for mistake in [
        ["--app", "com.example.other"], ["--app", "com.example.app", "--publisher", "1003"],
        ["--environment", "sandbox"],
        ["--app", "com.example.app", "--environment", "Xcode"], ["--app"],
      ] {
        let answer = try await test(fleet, mistake)
        #expect(answer.status == 2, "\(answer)")
      }
    }
  }
}
