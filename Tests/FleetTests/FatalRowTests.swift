import EventLoop
import Fleets
import HTTP
import Redis
import ServerSupport
import TestSupport
import Testing

/// Rows of the ledger that kill the worker which takes them.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct FatalRowTests {
  private static let purchase = "1000000000000042"

  @Test func `a due timer that kills its workers is held back, and the worker does the rest`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"], hasDoors: false) { fleet async throws in
      #expect(try await fleet.register(Self.purchase, id: "s1").status == 202)
      try await eventually("the purchase is there") {
        try await fleet.count("purchases WHERE customer_id = '7'") == 1
      }
      try await fleet.untilHeldBack(
        "timer", by: "COUNTERSIGN_TEST_CRASH_LOOK", of: Self.purchase,
        // Its lease would end after a while.
        hurry: "UPDATE purchases SET due_at = now() - interval '1 second'")
      #expect(try await fleet.register("1000000000000043", id: "s2").status == 202)
      try await eventually("another purchase is there") {
        try await fleet.count("purchases WHERE customer_id = '7'") == 2
      }
      #expect(fleet.roles["worker-1"]?.process.status == nil)
    }
  }

  @Test func `a history that kills its workers is held back, and the worker reads the others`() async throws {
    let often = ["COUNTERSIGN_WORKER_HISTORY_INTERVAL_SECONDS": "1"]
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: often, hasDoors: false) { fleet async throws in
      let name = "\(RunningFleet.publisher):com.example.app:Production"
      try await fleet.untilHeldBack(
        "history", by: "COUNTERSIGN_TEST_CRASH_HISTORY", of: name,
        hurry: "UPDATE notification_sources SET reading_at = NULL")
      let complete = "countersign_history_readings_total{outcome=\"complete\"}"
      try await eventually("others are read") { try await fleet.metric("worker-1", complete) >= 3 }
      #expect(fleet.roles["worker-1"]?.process.status == nil)

      // A mended worker leaves it alone, too, until a person deletes the count, as the runbook says.
      await fleet.kill("worker-1")
      try await fleet.execute("UPDATE notification_sources SET reading_at = NULL, read_through = NULL")
      try fleet.start("worker-1")
      try await fleet.ready("worker-1")
      let heldBack = "countersign_history_readings_total{outcome=\"held_back\"}"
      try await eventually("it is held back again") { try await fleet.metric("worker-1", heldBack) >= 1 }
      let isRead =
        "notification_sources WHERE publisher_id = \(RunningFleet.publisher) AND bundle_id = 'com.example.app' "
        + "AND environment = 'Production' AND read_through IS NOT NULL"
      #expect(try await fleet.count(isRead) == 0)
      try await fleet.delete("begun:history:\(name)")
      try await eventually("it is read") { try await fleet.count(isRead) == 1 }
    }
  }
}

extension RunningFleet {
  /// Deletes a key in Redis.
  func delete(_ key: String) async throws {
    let redis = RedisClient(TestServers.current!.redis)
    redis.start()
    try await eventually("Redis is there") { redis.isReady }
    #expect(try await redis.send(["DEL", "\(prefix):\(key)"]) == .integer(1))
    await redis.stop()
  }

  /// Deletes the counts of runs that have begun and not ended.
  private func forgetBegun(_ kind: String) async throws {
    let script = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end"
    let redis = RedisClient(TestServers.current!.redis)
    redis.start()
    try await eventually("Redis is there") { redis.isReady }
    _ = try await redis.send(["EVAL", script, "0", "\(prefix):begun:\(kind):*"])
    await redis.stop()
  }

  /// Starts a worker again and again that dies of a row, until one leaves the row alone.
  ///
  /// Six workers die, or fewer on a busy machine: a row that is made due again while its worker has it is counted
  /// twice.
  ///
  /// - Parameter hurry: makes the row due, so that nobody waits for the end of its lease.
  func untilHeldBack(_ kind: String, by fault: String, of name: String, hurry: String) async throws {
    await kill("worker-1")
    // It may have died with the row in hand. That is no death of the fault.
    try await forgetBegun(kind)
    let heldBack = "countersign_suspect_rows_held_back_total{kind=\"\(kind)\"}"
    var deaths = 0
    while true {
      try start("worker-1", with: [fault: name])
      var isDead = false
      var hurryAt = ContinuousClock.now
      // Each death has the whole patience. The worker that has held the row back may still die of an earlier run.
      try await eventually("the worker dies of the row after \(deaths) deaths, or holds it back") {
        isDead = roles["worker-1"]?.process.status != nil
        if isDead { return true }
        if ContinuousClock.now >= hurryAt {
          try await execute(hurry)
          hurryAt = .now + Self.shortLease
        }
        guard try await isReady("worker-1") else { return false }
        // It may die before it answers.
        return (try? await metric("worker-1", heldBack)).map { $0 >= 1 } ?? false
      }
      guard isDead else { break }
      deaths += 1
    }
    #expect((3...6).contains(deaths), "\(deaths) workers died until one held the row back")
  }

  /// So long a worker has a row before ``untilHeldBack(_:by:of:hurry:)`` makes it due again: longer than a worker takes
  /// to die of it.
  private static var shortLease: Duration { .seconds(1) }
}
