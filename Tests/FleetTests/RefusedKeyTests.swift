import Domain
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import Glibc
import HTTP
import ServerSupport
import Simulator
import TestSupport
import Testing

/// An app's key that worked and no longer works, at a whole fleet (decision 0037).
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct RefusedKeyTests {
  private static let apps = "countersign_apple_refused_apps"
  private static let retries = "countersign_job_retries_total{cause=\"unauthorized\"}"

  private func readiness(_ fleet: RunningFleet) async throws -> (status: Int, text: String) {
    let answer = try await fleet.send("GET", fleet.url("/readyz?verbose", gateway: "worker-1"))
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  /// 4000006 right after a good answer is an invalid id. See the test of an app that is not the key's.
  @Test(arguments: [Simulator.Weather.unauthorized, .refusing(code: 4_000_002)])
  func `jobs of the app wait, it is told at once, and they go on by themselves`(
    weather: Simulator.Weather
  ) async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"], hasDoors: false) { fleet in
      let publisher = RunningFleet.openPublisher
      #expect(try await fleet.register("1000000000001", publisher: publisher, id: "before").status == 202)
      #expect(try await fleet.finished(["before"]).map(\.result) == ["PURCHASE_SYNCHRONIZED"])
      let before = try await readiness(fleet).text
      #expect(before.contains("ok: apple\n"))

      var calls = 0
      fleet.simulator.onCall = { if $0.endpoint != "notificationHistory" { calls += 1 } }
      fleet.simulator.weather = weather
      let ids = (2...9).map { "wait-\($0)" }
      for (number, id) in ids.enumerated() {
        #expect(
          try await fleet.register("100000000000\(number + 2)", publisher: publisher, id: id).status == 202)
        // The first job finds it out, and the others need no call.
        if number == 0 {
          try await eventually("it is told") { try await fleet.metric("worker-1", Self.apps) >= 1 }
        }
      }
      let (status, text) = try await readiness(fleet)
      #expect(status == 200)
      #expect(
        text.contains("degraded: apple: Apple refuses the key of com.example.app (publisher 1002) in Production since"))
      // Each job has run twice, and the schedule of five further attempts has not begun.
      try await eventually("the jobs wait") { try await fleet.metric("worker-1", Self.retries) >= 16 }
      let later = fleet.logged("\"retrying\"").filter { !$0.contains("\"attempt\":1") }
      #expect(later.isEmpty)
      let told = fleet.logged("Apple refused the key").filter {
        $0.contains("\"publisherId\":1002") && $0.contains("\"Production\"")
      }
      #expect(told.count == 1)
      // One call in a while, and not one for each run.
      let runs = try await fleet.metric("worker-1", Self.retries)
      #expect(Double(calls) < runs)

      fleet.simulator.weather = .fair
      let results = try await fleet.finished(Set(ids)).filter { ids.contains($0.synchronizationId) }.map(\.result)
      #expect(results == Array(repeating: "PURCHASE_SYNCHRONIZED", count: ids.count))
      let after = try await readiness(fleet).text
      #expect(!after.contains("(publisher 1002) in Production"))
    }
  }

  /// The answers of Apple's for an app, or its bundle, that is not the key's.
  @Test(arguments: [4_000_002, 4_000_006])
  func `an app that is not the key's waits, while another app's jobs run as ever`(code: Int) async throws {
    let publisher = RunningFleet.openPublisher
    let offer = #"{"offerId": "S1", "productIds": ["com.example.other.monthly"], "tags": ["video"]}"#
    try await RunningFleet.with(["gateway-1", "worker-1"], hasDoors: false) { fleet in
      try fleet.writePublisher(
        publisher, #""customers": "open", "apps": [\#(RunningFleet.otherApp)], "offers": [\#(offer)]"#)
      // Before the first call: 4000006 right after a good answer is about the id.
      fleet.simulator.appWeather["com.example.other"] = .refusing(code: code)
    } _: { fleet in
      let waiting = (1...5).map { "wait-\($0)" }
      for (number, id) in waiting.enumerated() {
        #expect(try await fleet.register("100000000000\(number + 1)", publisher: publisher, id: id).status == 202)
      }
      try await eventually("it is told") { try await fleet.metric("worker-1", Self.apps) >= 1 }
      try await eventually("each waits") { try await fleet.metric("worker-1", Self.retries) >= 5 }
      let (status, text) = try await readiness(fleet)
      #expect(status == 200)
      #expect(
        text.contains(
          "degraded: apple: Apple refuses the key of com.example.other (publisher 1002) in Production since"))
      #expect(!text.contains("com.example.app"))
      #expect(fleet.logged("Apple refused the key").contains { $0.contains("\"app\":\"com.example.other\"") })

      let others = (1...5).map { "other-\($0)" }
      for (number, id) in others.enumerated() {
        #expect(try await fleet.register("100000000010\(number)", id: id).status == 202)
      }
      // All others end in their first run, and none of the waiting jobs does meanwhile.
      let ended = try await fleet.finished(Set(others))
      #expect(ended.map(\.result) == Array(repeating: "PURCHASE_SYNCHRONIZED", count: others.count))
      #expect(Set(ended.map(\.synchronizationId)) == Set(others))
      let retried = fleet.logged("\"retrying\"")
      #expect(retried.allSatisfy { $0.contains("\"publisherId\":1002") && $0.contains("\"attempt\":1") })
      for id in waiting { #expect(try await fleet.status(id, publisher: publisher)?.status == "retrying") }

      fleet.simulator.appWeather = [:]
      let mended = try await fleet.finished(Set(waiting)).filter { waiting.contains($0.synchronizationId) }
      #expect(mended.map(\.result) == Array(repeating: "PURCHASE_SYNCHRONIZED", count: waiting.count))
      #expect(mended.allSatisfy { $0.accessGranted && $0.offerId == "S1" })
      // Only the reading of the Notification History asks the sandbox of a released app, and asks again in an hour.
      #expect(try await fleet.metric("worker-1", Self.apps) <= 1)
      let after = try await readiness(fleet).text
      #expect(!after.contains("(publisher 1002) in Production"))
    }
  }

  @Test func `some hundreds of them run no more often than one after the other, and delay nobody else`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"], hasDoors: false) { fleet in
      let publisher = RunningFleet.openPublisher
      let waiting = (1...400).map { (transaction: "1000300\(100_000 + $0)", id: "wait-\($0)") }
      // Only the calls of this publisher are refused: the other one has another key for the same app.
      for (transaction, _) in waiting { fleet.simulator.localWeather[transaction] = [.unauthorized] }
      let start = ContinuousClock.now
      for (number, job) in waiting.enumerated() {
        #expect(
          try await fleet.register(job.transaction, customer: Int64(1000 + number), publisher: publisher, id: job.id)
            .status == 202)
      }
      try await eventually("each has run once") {
        try await fleet.metric("worker-1", Self.retries) >= Double(waiting.count)
      }
      for number in 1...20 {
        #expect(try await fleet.register("1000400\(100_000 + number)", id: "other-\(number)").status == 202)
      }
      _ = try await fleet.finished(Set((1...20).map { "other-\($0)" }))

      // After their first runs they come in turns. The longer this machine takes, the more they may run: no more than
      // their turns allow in the time that has passed.
      // Jobs that all come after five seconds are as many long before their turns allow it.
      let again = Double(waiting.count)
      var runs = 0.0
      try await eventually("they run again") {
        runs = try await fleet.metric("worker-1", Self.retries) - Double(waiting.count)
        return runs >= again
      }
      let passed = (ContinuousClock.now - start) / .seconds(1)
      #expect(runs <= passed * Double(JobRetryPolicy.waitingRunsPerSecond) + 1)

      fleet.simulator.localWeather = [:]
      let results = try await fleet.finished(Set(waiting.map(\.id))).filter { $0.synchronizationId.hasPrefix("wait-") }
      #expect(Set(results.map(\.synchronizationId)).count == waiting.count)
      #expect(results.allSatisfy { $0.result == "PURCHASE_SYNCHRONIZED" })
    }
  }

  @Test func `an id that Apple calls invalid ends its own job only`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"], hasDoors: false) { (fleet) async throws in
      let publisher = RunningFleet.openPublisher
      let bad = "1000000000001"
      fleet.simulator.localWeather[bad] = [.refusing(code: 4_000_006)]
      #expect(try await fleet.register(bad, publisher: publisher, id: "bad").status == 202)
      #expect(try await fleet.finished(["bad"]).map(\.result) == ["TRANSACTION_ID_NOT_FOUND"])
      #expect(try await fleet.register("1000000000002", publisher: publisher, id: "good").status == 202)
      #expect(try await fleet.finished(["good"]).last?.result == "PURCHASE_SYNCHRONIZED")
      #expect(fleet.logged("Apple refused the key").isEmpty)
    }
  }
}
