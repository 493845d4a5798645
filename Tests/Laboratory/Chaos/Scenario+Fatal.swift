import AMQP
import EventLoop
import Fleets
import HTTP
import Messaging
import TestSupport

extension Scenario {
  /// A job, a delivery and a notification that each kill the process that has it, at the same time.
  static let fatal = Scenario(
    name: "fatal-messages",
    what: "a job, a delivery and a notification that each kill every process that takes them",
    environment: [
      // The sweeps look soon: what is put aside must not come back by them.
      "COUNTERSIGN_NOTIFIER_SWEEP_AFTER_SECONDS": "2", "COUNTERSIGN_NOTIFIER_SWEEP_INTERVAL_SECONDS": "1",
    ],
    expectations: Verdict.Expectations(exceptions: ["fatal-job": ["INTERNAL_ERROR"]], allowsSweep: true)
  ) { chaos in
    try await chaos.replace(FatalMessages.roles, with: FatalMessages.faults)
    try await FatalMessages(chaos).run()
    // The transactions are registered again at the end, and must not kill anybody then.
    try await chaos.loadEnds()
    try await chaos.replace(FatalMessages.roles)
    try await FatalMessages(chaos).bringBack()
  }
}

/// The three messages of the row, and what must become of them.
@LoopActor
private struct FatalMessages {
  private static let job = "1009999999999"
  private static let delivery = "1009999999998"
  private static let notification = "1009999999997"

  /// Whom they kill.
  static let roles = Chaos.workers + Chaos.notifiers

  /// What makes them fatal.
  static let faults = [
    "COUNTERSIGN_TEST_CRASH_TRANSACTION": job, "COUNTERSIGN_TEST_CRASH_DELIVERY": "fatal-delivery",
    "COUNTERSIGN_TEST_CRASH_NOTIFICATION": notification,
  ]

  private let chaos: Chaos
  private var fleet: RunningFleet { chaos.fleet }

  init(_ chaos: Chaos) { self.chaos = chaos }

  func run() async throws {
    try await chaos.registerAll(["fatal-job": Self.job, "fatal-delivery": Self.delivery])
    let text = try await fleet.minted("notification/\(Self.notification)?type=DID_RENEW")
    let answer = try await fleet.send(
      "POST", fleet.url("/apple/notifications", gateway: Chaos.gateways[0]), [("Content-Type", "application/json")],
      "{\"signedPayload\":\"\(text)\"}")
    guard answer.status == 200 else { throw ScenarioFailure(description: "the notification: \(answer.status)") }
    let deaths = try await restartUntilAside()
    chaos.history.measures.append("\(deaths) processes died until all three were put aside")
    try await judgeDelivery()
    try await judgeRest()
  }

  /// More steps than these are no way to an end: each message dies a few times, and a notification that has to let
  /// other suspects go first comes again by the sweep, six times and each time 30 seconds later.
  private static let mostSteps = 100

  /// In production something always restarts a process that died.
  ///
  /// A step is a death, a message that is put aside, and a sweep that takes a notification. Each has the patience of a
  /// test.
  private func restartUntilAside() async throws -> Int {
    var (deaths, steps) = (0, 0)
    var (last, deadline, hurryAt) = ([String](), ContinuousClock.now, ContinuousClock.now)
    while true {
      if chaos.size.isQuick, ContinuousClock.now >= hurryAt {
        try await shortenLease()
        hurryAt = .now + .seconds(2)
      }
      let missing = try await notAside()
      if missing.isEmpty { break }
      let standing = ["\(deaths) deaths"] + missing
      if standing != last { (last, deadline, steps) = (standing, .now + .patience, steps + 1) }
      guard ContinuousClock.now < deadline, steps < Self.mostSteps else {
        throw ScenarioFailure(description: "did not come in step \(steps): " + standing.joined(separator: ", "))
      }
      deaths += try await restartDead()
      try await chaos.pause(0.05...0.1)
    }
    deaths += try await restartDead()
    for name in Self.roles { try await fleet.ready(name) }
    return deaths
  }

  /// Lets the next sweep take the notification, in a quick run: its lease is 30 seconds.
  private func shortenLease() async throws {
    try await fleet.execute("UPDATE notifications SET due_at = now() WHERE due_at > now() AND put_aside_at IS NULL")
  }

  private func restartDead() async throws -> Int {
    let dead = Self.roles.filter { fleet.roles[$0]?.process.status != nil }
    // The next death may come before it says that it is ready.
    for name in dead {
      chaos.injected("death of \(name)")
      try fleet.start(name, with: Self.faults)
    }
    return dead.count
  }

  /// What is not put aside yet.
  private func notAside() async throws -> [String] {
    var missing: [String] = []
    if !fleet.events.all.contains(where: { $0.synchronizationId == "fatal-job" }) { missing.append("the job's event") }
    missing += try await fleet.texts(
      """
      SELECT 'the notification, put aside' AS text
        WHERE NOT EXISTS (SELECT FROM notifications WHERE put_aside_at IS NOT NULL)
      UNION ALL SELECT 'the end of notification ' || uuid || ', due at ' || due_at
        FROM notifications WHERE due_at IS NOT NULL
      UNION ALL SELECT 'the delivery, given up' WHERE NOT EXISTS (SELECT FROM attempts WHERE outcome = 'abandoned')
      ORDER BY text
      """)
    return missing
  }

  /// The delivery's copy lies in the queue of the dead with its reason, and no other delivery's does.
  private func judgeDelivery() async throws {
    let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "fatal")
    let dead = Mailbox<AMQPDelivery>(of: "dead deliveries")
    try await connection.openChannel().consume(fleet.topology.deadDeliveries, tag: "dead") { dead.put($0) }
    try await dead.wait(for: 1)
    await connection.close()
    // A sweep may have enqueued it twice. The other copy finds the end in the log, and is buried too.
    let reasons = dead.all.map { $0.properties.headers[JobMessage.reasonHeader]?.string ?? "" }
    let others = dead.all.filter { RunningFleet.synchronizationId(of: $0) != "fatal-delivery" }
    guard reasons.contains(where: { $0.contains("died") }), others.isEmpty else {
      throw ScenarioFailure(description: "buried with \(reasons), and \(others.count) of them are other deliveries")
    }
    let event = dead.all.first?.properties.messageID ?? ""
    guard try await fleet.count("deliveries WHERE event_id = '\(event)'") == 0 else {
      throw ScenarioFailure(description: "a sweep would find the fatal delivery again")
    }
  }

  /// Sweeps look several times, and nobody dies any more.
  private func judgeRest() async throws {
    for _ in 0..<5 {
      try await chaos.pause(0.9...1.1)
      let dead = Self.roles.filter { fleet.roles[$0]?.process.status != nil }
      guard dead.isEmpty else { throw ScenarioFailure(description: "\(dead) died although all is put aside") }
    }
  }

  /// A person brings the notification back, as the runbook says, once the cause is mended.
  func bringBack() async throws {
    try await fleet.execute(
      """
      UPDATE notifications SET put_aside_at = NULL, put_aside_reason = NULL, due_at = now()
      WHERE put_aside_at IS NOT NULL
      """)
    try await eventually("the notification is applied") {
      try await fleet.count("notifications WHERE applied_at IS NULL") == 0
    }
  }
}
