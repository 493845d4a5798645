import EventLoop
import Fleets
import HTTP
import Messaging
import Redis
import TestSupport

extension Scenario {
  /// Nodes of a cluster die, are cut off and come back: RabbitMQ with three nodes, Redis with sentinels, and the
  /// ledger's standby.
  static let clusters: [Scenario] = [
    Scenario(name: "rabbitmq-leader", what: "the node that leads the queue of jobs killed", place: .cluster) { chaos in
      try await chaos.loseNode("kill") { servers in
        let leader = try await servers.leader(of: chaos.fleet.topology.jobs)
        try await servers.kill(leader)
        return leader
      }
    },
    Scenario(name: "rabbitmq-node", what: "a node of RabbitMQ lost and back", place: .cluster) { chaos in
      try await chaos.loseNode("stop") { servers in
        let node = TestServers.Server.brokers.randomElement(using: &chaos.random)!
        try await servers.stop(node)
        return node
      }
    },
    Scenario(name: "rabbitmq-two-nodes", what: "two nodes of RabbitMQ killed at once", place: .cluster) { chaos in
      var round = 0
      repeat {
        try await chaos.pause(3...4)
        try await chaos.loseTwoNodes(round)
        round += 1
      } while chaos.goesOn
    },
    Scenario(
      name: "rabbitmq-partition", what: "a node of RabbitMQ cut off from the others", needsPartition: true,
      place: .cluster,
      inject: { chaos in
        repeat {
          try await chaos.pause(1...1.5)
          try await chaos.partition()
        } while chaos.goesOn
      },
      heal: { _ in try await TestServers.current!.endPartition() }),
    Scenario(
      name: "redis-failover", what: "the primary of Redis killed, whose replicas were 2 seconds behind",
      place: .cluster, expectations: Verdict.Expectations(forgetsClaims: true)
    ) { chaos in
      repeat {
        try await chaos.pause(1...1.5)
        try await chaos.losePrimary()
      } while chaos.goesOn
    },
    Scenario(
      name: "standby-lost", what: "the ledger's standby killed, and back", needsStandby: true, place: .cluster,
      leastSeconds: 30
    ) { chaos in
      try await chaos.pause(1...1.5)
      try await chaos.loseStandby()
      try await chaos.loadEnds()
    },
  ]
}

extension Chaos {
  /// Takes one node of RabbitMQ down again and again as long as registrations come. The other two must go on.
  fileprivate func loseNode(
    _ fault: String, _ down: @LoopActor (TestServers) async throws -> TestServers.Server
  ) async throws {
    let servers = TestServers.current!
    var round = 0
    repeat {
      // RabbitMQ 3.10 registers a new queue half a second late. A node that is killed before takes it along.
      try await pause(3...4)
      let node = try await down(servers)
      injected("\(fault) \(node.rawValue)")
      try await goOn("\(fault)-\(round)")
      try await servers.start(node)
      try await beWhole()
      round += 1
    } while goesOn
  }

  /// Registers a purchase, until a gateway accepts one, and waits until it is told.
  private func goOn(_ name: String) async throws {
    var number = 0
    var accepted: String?
    try await eventually("a registration is accepted: \(name)") {
      let id = "\(name)-\(number)"
      let answer = await self.register(id, "1109\(5_000_000 + self.history.registrations.count)", Self.gateways[0])
      if answer == .accepted { accepted = id }
      number += 1
      return accepted != nil
    }
    try await eventually("\(name) is told") { self.told[accepted!] != nil }
  }

  private func beWhole() async throws {
    for name in Self.roles { try await fleet.ready(name) }
    try await fleet.subscribed()
  }

  /// Freezes two nodes of RabbitMQ, and kills them while registrations wait for a confirm. The third one pauses. What
  /// the gateways answered with an unknown outcome is settled by its id when the nodes are back.
  fileprivate func loseTwoNodes(_ round: Int) async throws {
    let servers = TestServers.current!
    let lost = Array(TestServers.Server.brokers.shuffled(using: &random)[..<2])
    var asked: [(id: String, transaction: String)] = []
    var unknown: [(id: String, transaction: String)] = []
    var isDown = false
    let lanes = (0..<8).map { lane in
      Task { @LoopActor in
        while !isDown {
          let number = asked.count
          let (id, transaction) = ("two-\(round)-\(number)", "1109\(6_000_000 + 10_000 * round + number)")
          asked.append((id, transaction))
          let (answer, isUnsure) = await self.registerUnsurely(id, transaction, Self.gateways[lane % 2])
          if isUnsure { unknown.append((id, transaction)) }
          // A gateway without a broker refuses thousands in a second, and each of them is registered again at the end.
          if answer != .accepted { try? await EventLoop.sleep(for: .milliseconds(100)) }
        }
      }
    }
    do {
      try await eventually("registrations are on their way") { asked.count > 20 }
      // One node confirms nothing without the others.
      for node in lost { try await servers.pause(node) }
      var before = -1
      try await eventually("registrations wait for a confirm") {
        try await EventLoop.sleep(for: .milliseconds(300))
        defer { before = asked.count }
        return asked.count == before
      }
      injected("kill \(lost.map(\.rawValue).joined(separator: " and "))")
      for node in lost { try await servers.kill(node) }
      for gateway in Self.gateways {
        try await eventually("\(gateway) is not ready") {
          try await self.fleet.send("GET", self.fleet.url("/readyz", gateway: gateway)).status == 503
        }
      }
    } catch {
      isDown = true
      throw error
    }
    isDown = true
    for lane in lanes { await lane.value }
    guard !unknown.isEmpty else { throw ScenarioFailure(description: "no registration had an unknown outcome") }
    // Neither is whole without the other.
    try await servers.start(.rabbitmq)
    try await beWhole()
    for (id, transaction) in unknown {
      try await eventually("\(id) is settled") {
        await self.register(id, transaction, Self.gateways[0], customer: 60) == .accepted
      }
    }
    try await eventually("all of them are told") { unknown.allSatisfy { self.told[$0.id] != nil } }
  }

  /// Registers a purchase and notes the answer.
  ///
  /// - Returns: the answer, and whether the gateway said that the outcome is unknown, and how to settle it.
  private func registerUnsurely(
    _ id: String, _ transaction: String, _ gateway: String
  ) async -> (History.Answer, isUnsure: Bool) {
    let sentAt = unixMilliseconds()
    chosen[transaction] = 60
    var answer = History.Answer.unknown
    var isUnsure = false
    if let response = try? await fleet.register(
      transaction, customer: 60, publisher: publisher(of: "60"), id: id, gateway: gateway)
    {
      let body = String(decoding: response.body, as: UTF8.self)
      isUnsure = response.status == 503 && body.contains("repeat it with Correlation-Id: \(id)")
      answer =
        switch response.status {
        case 202: .accepted
        case 503: response.header("retry-after") == nil ? .unexpected(503) : .unavailable
        default: .unexpected(response.status)
        }
    }
    history.registrations.append(
      History.Registration(
        id: id, transaction: transaction, customer: 60, sentAt: sentAt, answeredAt: unixMilliseconds(), answer: answer))
    return (answer, isUnsure)
  }

  /// Cuts the node off that leads the queue of jobs. It pauses, or leads nobody any more, and the other two go on.
  fileprivate func partition() async throws {
    let servers = TestServers.current!
    let node = try await servers.leader(of: fleet.topology.jobs)
    injected("cut off \(node.rawValue)")
    try await servers.cut(node)
    // After some seconds the nodes give each other up. The one that is alone refuses connections, or, with RabbitMQ
    // 4.3, keeps them and delivers nothing.
    try await eventually("the others go on without \(node.rawValue)") {
      if try await !servers.takesConnections(node) { return true }
      let leader = try? await servers.leader(of: fleet.topology.jobs, besides: node)
      return leader.map { $0 != node } ?? false
    }
    try await goOn("cut-\(history.faults.count)")
    try await servers.endPartition()
    try await eventually("\(node.rawValue) is back") { try await servers.takesConnections(node) }
    try await beWhole()
  }

  /// Holds the replication of Redis back for 2 seconds, and kills the primary. What it had not passed on is lost.
  fileprivate func losePrimary() async throws {
    let servers = TestServers.current!
    let primary = try await servers.primary()
    for replica in TestServers.Server.stores where replica != primary {
      let connection = try await servers.connection(to: replica)
      // Nothing listens on port 1.
      _ = try await connection.send(["REPLICAOF", "127.0.0.1", "1"])
      connection.close()
    }
    try await EventLoop.sleep(for: .seconds(2))
    let written = try await servers.replicationField("master_repl_offset", of: primary)
    try await servers.kill(primary)
    var successor = primary
    try await eventually("the sentinels have chosen another primary") {
      successor = try await servers.primary()
      return successor != primary
    }
    var kept: Int64 = 0
    try await eventually("it is the primary") {
      kept = try await servers.replicationField("second_repl_offset", of: successor) - 1
      return kept >= 0
    }
    injected("kill \(primary.rawValue), \(written - kept) bytes ahead of \(successor.rawValue)")
    guard written > kept else { throw ScenarioFailure(description: "the new primary has all \(written) bytes") }
    try await beWhole()
    try await goOn("failover-\(history.faults.count)")
    // It begins as a second primary, until the sentinels see it. No role may use it.
    try await servers.start(.redis)
    try await beWhole()
  }

  /// Kills the ledger's standby. Commits hang until it is back, so the gateways answer 503 to what needs one.
  fileprivate func loseStandby() async throws {
    let servers = TestServers.current!
    injected("kill postgres-standby")
    try await servers.kill(.standby)
    var number = 0
    for gateway in Self.gateways {
      try await eventually("\(gateway) says that the ledger is away") {
        number += 1
        let url = self.fleet.url("/customers/lost-\(number)", gateway: gateway)
        let answer = try await self.fleet.send("PUT", url, self.fleet.headers(RunningFleet.publisher), "{}")
        return answer.status == 503
      }
    }
    let before = told.count
    try await pause(size.isQuick ? 3...4 : 15...16)
    let hanging = told.count - before
    guard hanging == 0 else {
      throw ScenarioFailure(description: "\(hanging) synchronizations were finalized without the standby")
    }
    try await servers.start(.standby)
    try await beWhole()
    try await eventually("the ledger takes customers again") {
      number += 1
      let url = self.fleet.url("/customers/back-\(number)")
      return try await self.fleet.send("PUT", url, self.fleet.headers(RunningFleet.publisher), "{}").status / 100 == 2
    }
  }
}
