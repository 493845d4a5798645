import EventLoop
import Fleets
import TestSupport

extension Scenario {
  /// One customer has thousands of purchases in the line for Apple's calls. All others wait no longer than a promised
  /// factor (decision 0039), though workers die with jobs of the line in hand.
  static let crowd = Scenario(
    name: "crowd", what: "one customer's thousands of jobs beside the load's, while workers die",
    environment: [
      "COUNTERSIGN_APP_STORE_BUDGET_SCALE": String(Double(crowdBudget) / 50),
      "COUNTERSIGN_WORKER_ANSWER_REUSE_SECONDS": "0",
    ], leastSeconds: 40,
    expectations: Verdict.Expectations(needsBudgetWait: true, callsPerSecond: crowdBudget)
  ) { chaos in
    let killing = Task { @LoopActor in try await chaos.killWorkers() }
    // Half of the load is alone.
    try await chaos.loadReaches(0.4)
    let start = unixMilliseconds()
    let crowd = chaos.size.isQuick ? 400 : 6000
    try await chaos.registerCrowd(crowd)
    chaos.injected("\(crowd) purchases of one customer")
    try await chaos.loadEnds()
    try await killing.value
    let lastOfCrowd = chaos.told.filter { $0.key.hasPrefix("crowd-") }.map(\.value.at).max() ?? unixMilliseconds()
    let alone = chaos.delays { $0.answeredAt < start }
    let beside = chaos.delays { $0.answeredAt >= start && $0.answeredAt < lastOfCrowd }
    guard let before = alone.median, let after = beside.median else {
      throw ScenarioFailure(description: "the load has \(alone.count) and \(beside.count) delays")
    }
    chaos.history.measures.append(
      "others waited \(before) ms (p50) alone, and \(after) ms beside \(crowd) purchases of one customer")
    guard after <= crowdFactor * max(before, 100) else {
      throw ScenarioFailure(description: "others waited \(after) ms (p50) instead of \(before) ms")
    }
  }

  /// The calls to one endpoint in a second: more than the load needs.
  private static let crowdBudget = 250
  /// The promise.
  private static let crowdFactor: Int64 = 4
}

extension Chaos {
  /// Kills a worker now and then, as long as the load lasts.
  fileprivate func killWorkers() async throws {
    while goesOn {
      try await pause(1.0...2.5)
      let name = Self.workers.randomElement(using: &random)!
      injected("kill \(name)")
      await fleet.kill(name)
      try await restart([name])
    }
  }

  /// Waits until a part of the load has been sent.
  fileprivate func loadReaches(_ part: Double) async throws {
    let seconds = size.isQuick ? Double(size.registrations) / size.perSecond : Scenario.crowd.leastSeconds
    try await EventLoop.sleep(for: .seconds(seconds * part))
  }

  /// Registers purchases of one customer, as fast as the gateways take them.
  fileprivate func registerCrowd(_ count: Int) async throws {
    var left = (0..<count)[...]
    let clients = (0..<20).map { _ in
      Task { @LoopActor in
        while let number = left.popFirst() {
          let gateway = Self.gateways[number % 2]
          await self.register("crowd-\(number)", "100\(5_000_000 + number)", gateway, customer: 60_000)
        }
      }
    }
    for client in clients { await client.value }
  }

  /// The times from the 202 to the event of the load's registrations, in milliseconds.
  fileprivate func delays(of isCounted: (History.Registration) -> Bool) -> [Int64] {
    history.accepted.filter { !$0.id.hasPrefix("crowd-") && isCounted($0) }
      .compactMap { registration in told[registration.id].map { $0.at - registration.answeredAt } }
  }
}

extension [Int64] {
  fileprivate var median: Int64? { isEmpty ? nil : sorted()[count / 2] }
}
