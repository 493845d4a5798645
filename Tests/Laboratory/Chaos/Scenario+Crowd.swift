import EventLoop
import Fleets
import TestSupport

extension Scenario {
  /// One customer has thousands of purchases in the line for Apple's calls. Other publishers' purchases wait no longer
  /// than a promised factor (decision 0039), though workers die with jobs of the line in hand. How long those of the
  /// same publisher's other customers wait is told, not judged: they are few.
  ///
  /// The load leaves the processor idle before the crowd comes: 250 registrations a second use up two cores, and
  /// whatever comes then makes everybody wait.
  static let crowd = Scenario(
    name: "crowd", what: "one customer's thousands of jobs beside the load's, while workers die",
    environment: [
      "COUNTERSIGN_APP_STORE_BUDGET_SCALE": String(Double(crowdBudget) / 50),
      "COUNTERSIGN_WORKER_ANSWER_REUSE_SECONDS": "0",
    ], mostPerSecond: 100, leastSeconds: 40,
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
    let crowdTold = chaos.told.filter { $0.key.hasPrefix("crowd-") }.map(\.value.at).sorted()
    let end = crowdTold.last ?? start
    let isBeside: (History.Registration) -> Bool = { $0.answeredAt >= start && $0.answeredAt < end }
    // The promise to other publishers is the one that is judged.
    let alone = chaos.waits(ofCrowdsPublisher: false) { $0.answeredAt < start }
    let beside = chaos.waits(ofCrowdsPublisher: false, isBeside)
    guard let before = alone.map(\.milliseconds).median, let after = beside.map(\.milliseconds).median else {
      throw ScenarioFailure(description: "the load has \(alone.count) and \(beside.count) waits")
    }
    let overtaken = beside.map { wait in crowdTold.count { wait.time.contains($0) } }.median ?? 0
    chaos.history.measures.append(
      "other publishers' purchases waited \(before) ms (p50) alone, and \(after) ms and \(overtaken) of the crowd's"
        + " purchases beside \(crowd) purchases of one customer")
    let customersBefore = chaos.waits(ofCrowdsPublisher: true) { $0.answeredAt < start }.map(\.milliseconds)
    let customersAfter = chaos.waits(ofCrowdsPublisher: true, isBeside).map(\.milliseconds)
    if let before = customersBefore.median, let after = customersAfter.median {
      chaos.history.measures.append(
        "those of the same publisher's other customers waited \(before) ms (p50) alone, and \(after) ms beside it"
          + " (\(customersAfter.count) purchases)")
    }
    // A day's test counts whom the crowd overtook: a busy machine changes every time.
    guard chaos.size.isQuick ? overtaken <= crowd / 4 : after <= crowdFactor * max(before, 100) else {
      throw ScenarioFailure(
        description:
          "other publishers waited \(after) ms (p50) instead of \(before) ms, behind \(overtaken) of the crowd")
    }
  }

  /// The calls to one endpoint in a second: more than the load needs.
  private static let crowdBudget = 250
  /// The promise.
  private static let crowdFactor: Int64 = 4
  /// A customer of the open publisher, whom the load does not name.
  fileprivate static let crowdCustomer = 60_000
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
          await self.register("crowd-\(number)", "100\(5_000_000 + number)", gateway, customer: Scenario.crowdCustomer)
        }
      }
    }
    for client in clients { await client.value }
  }

  /// The waits from the 202 to the event of the load's registrations.
  ///
  /// - Parameter isOfPublisher: whether those of the crowd's publisher count, or those of all others.
  fileprivate func waits(
    ofCrowdsPublisher isOfPublisher: Bool, _ isCounted: (History.Registration) -> Bool
  ) -> [Wait] {
    let crowds = publisher(of: String(Scenario.crowdCustomer))
    return history.accepted.filter { registration in
      !registration.id.hasPrefix("crowd-") && isCounted(registration)
        && (publisher(of: String(registration.customer)) == crowds) == isOfPublisher
    }.compactMap { registration in
      told[registration.id].map { Wait(time: registration.answeredAt..<max($0.at, registration.answeredAt)) }
    }
  }
}

/// The wait of one registration.
private struct Wait {
  /// In milliseconds since 1970.
  let time: Range<Int64>
  var milliseconds: Int64 { time.upperBound - time.lowerBound }
}

extension Array where Element: Comparable {
  fileprivate var median: Element? { isEmpty ? nil : sorted()[count / 2] }
}
