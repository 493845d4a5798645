import EventLoop
import Fleets
import Simulator
import TestSupport

extension Scenario {
  /// Row 7: faults of the network: the connections between every two processes are cut, stalled and slowed.
  static let network = Scenario(
    name: "network", what: "connections cut, stalled and slowed between every two parts",
    environment: ["COUNTERSIGN_RABBITMQ_HEARTBEAT_SECONDS": "2"], needsNetwork: true,
    leastSeconds: 60,
    inject: { chaos in
      guard let network = chaos.fleet.network else { return }
      let modes: [FaultProxy.Mode] = [.cut, .stalled, .slow(bytesPerSecond: 20_000)]
      var faults = network.links.flatMap { link in modes.map { (link, $0) } }.shuffled(using: &chaos.random)[...]
      var busy: Set<FleetNetwork.Link> = []
      // A network seldom breaks in one place at a time.
      let lanes = (0..<4).map { _ in
        Task { @LoopActor in
          while let index = faults.firstIndex(where: { !busy.contains($0.0) }), chaos.goesOn || !chaos.size.isQuick {
            let (link, mode) = faults.remove(at: index)
            busy.insert(link)
            try await chaos.disturb(link, mode)
            busy.remove(link)
          }
        }
      }
      for lane in lanes { try await lane.value }
      try await chaos.loadEnds()
    },
    heal: { $0.fleet.network?.heal() })

  /// Row 8: what Apple does on a bad day.
  static let apple: [Scenario] = [
    Scenario(
      name: "apple-down", what: "Apple unreachable, for two minutes, with four doors", needsNetwork: true,
      leastSeconds: 125, expectations: Verdict.Expectations(hasDoors: true),
      inject: { chaos in
        guard let network = chaos.fleet.network else { return }
        try await chaos.pause(0.3...0.6)
        chaos.injected("Apple down")
        let links = network.links.filter { $0.to == "apple" }
        for link in links { network[link].mode = .cut }
        while chaos.goesOn { try await chaos.pause(0.2...0.4) }
        try await chaos.pause(1...2)
        for link in links { network[link].mode = .open }
      },
      heal: { $0.fleet.network?.heal() }),
    weather("apple-429", "429 with Retry-After in milliseconds", .rateLimited(milliseconds: 3000), isTight: true),
    weather("apple-500", "500 (5000000)", .failing),
    weather("apple-slow", "answers take 30 seconds (quick: 5)", .slow(.seconds(30)), quick: .slow(.seconds(5))),
    weather("apple-reset", "connections reset in mid-body", .interrupted),
    Scenario(
      name: "apple-forged", what: "Apple: payloads signed by another authority",
      expectations: Verdict.Expectations(
        result: "VERIFICATION_FAILED"),
      inject: { chaos in
        // The weather lasts from before the first registration until the last event: no other result is possible.
        chaos.injected("forged")
        chaos.fleet.simulator.weather = .forged
        try await chaos.loadEnds()
        try await eventually("all is told") { chaos.isAllTold }
      },
      heal: { $0.fleet.simulator.weather = .fair }),
  ]

  private static func weather(
    _ name: String, _ what: String, _ weather: Simulator.Weather, quick: Simulator.Weather? = nil,
    isTight: Bool = false
  ) -> Scenario {
    var environment: [String: String] = [:]
    var expectations = Verdict.Expectations()
    if isTight {
      environment.merge(limited) { $1 }
      expectations.needsBudgetWait = true
      expectations.callsPerSecond = tightBudget
    }
    return Scenario(
      name: name, what: "Apple: \(what)", environment: environment, expectations: expectations,
      inject: { chaos in
        while chaos.goesOn {
          try await chaos.pause(0.3...0.6)
          chaos.injected(name)
          chaos.fleet.simulator.weather = chaos.size.isQuick ? quick ?? weather : weather
          try await chaos.pause(0.5...1.5)
          chaos.fleet.simulator.weather = .fair
        }
      },
      heal: { $0.fleet.simulator.weather = .fair })
  }
}

extension Chaos {
  /// Breaks one connection in one way, and mends it.
  fileprivate func disturb(_ link: FleetNetwork.Link, _ mode: FaultProxy.Mode) async throws {
    injected("\(link) \(mode)")
    fleet.network?[link].mode = mode
    // A long stall lasts longer than Redis may take for a reply, and longer than a heartbeat. A short one does not.
    let isLong = mode == .stalled && !size.isQuick && Bool.random(using: &random)
    try await pause(isLong ? 5...7 : 0.2...1.5)
    fleet.network?[link].mode = .open
    // A process gives up a stalled connection only with its heartbeat. In the end a network resets it.
    if Bool.random(using: &random) { fleet.network?[link].cut() }
    try await pause(0.1...0.4)
  }
}
