import EventLoop
import Simulator
import TestSupport

extension Scenario {
  /// Row 7: connections between every two parts are cut, stalled and slowed.
  static let network = Scenario(
    name: "network", what: "connections cut, stalled and slowed between every two parts",
    environment: patient.merging(["COUNTERSIGN_RABBITMQ_HEARTBEAT_SECONDS": "2"]) { $1 }, needsNetwork: true,
    inject: { chaos in
      guard let network = chaos.fleet.network else { return }
      var links: [FleetNetwork.Link] = []
      while chaos.goesOn || !links.isEmpty {
        // Every pair gets its turn, in an order of chance.
        if links.isEmpty { links = network.links.shuffled(using: &chaos.random) }
        let link = links.removeLast()
        let modes: [FaultProxy.Mode] = [.cut, .stalled, .slow(bytesPerSecond: 20_000)]
        let mode = modes.randomElement(using: &chaos.random)!
        chaos.injected("\(link) \(mode)")
        network[link].mode = mode
        try await chaos.pause(0.2...1.5)
        network[link].mode = .open
        // A connection that stalled is only given up with its heartbeat; a reset is what a network does in the end.
        if Bool.random(using: &chaos.random) { network[link].cut() }
        try await chaos.pause(0.1...0.4)
      }
    },
    heal: { $0.fleet.network?.heal() })

  /// Row 8: what Apple does on a bad day.
  static let apple: [Scenario] = [
    Scenario(
      name: "apple-down", what: "Apple unreachable", environment: patient, needsNetwork: true,
      inject: { chaos in
        let apple = FleetNetwork.Link(role: "worker", target: "apple")
        try await chaos.pause(0.3...0.6)
        chaos.injected("Apple down")
        chaos.fleet.network?[apple].mode = .cut
        while chaos.goesOn { try await chaos.pause(0.2...0.4) }
        try await chaos.pause(1...2)
        chaos.fleet.network?[apple].mode = .open
      },
      heal: { $0.fleet.network?.heal() }),
    weather("apple-429", "429 with Retry-After in milliseconds", .rateLimited(milliseconds: 700), calls: 100),
    weather("apple-500", "500 (5000000)", .failing),
    weather("apple-slow", "every answer takes 5 seconds", .slow(.seconds(5))),
    weather("apple-reset", "connections reset in mid-body", .interrupted),
    Scenario(
      name: "apple-forged", what: "Apple: payloads signed by another authority", environment: patient,
      expectations: Verdict.Expectations(results: ["VERIFICATION_FAILED"]),
      inject: { chaos in
        // From before the first registration until the last is told: nothing else can come of any.
        chaos.injected("forged")
        chaos.fleet.simulator.weather = .forged
        while chaos.goesOn || !chaos.isAllTold { try await chaos.pause(0.1...0.2) }
      },
      heal: { $0.fleet.simulator.weather = .fair }),
  ]

  private static func weather(
    _ name: String, _ what: String, _ weather: Simulator.Weather, calls: Int? = nil
  ) -> Scenario {
    var environment = patient
    var expectations = Verdict.Expectations()
    if let calls {
      environment["COUNTERSIGN_APP_STORE_CALLS_PER_SECOND"] = String(calls)
      expectations.callsPerSecond = calls
    }
    return Scenario(
      name: name, what: "Apple: \(what)", environment: environment, expectations: expectations,
      inject: { chaos in
        while chaos.goesOn {
          try await chaos.pause(0.3...0.6)
          chaos.injected(name)
          chaos.fleet.simulator.weather = weather
          try await chaos.pause(0.5...1.5)
          chaos.fleet.simulator.weather = .fair
        }
      },
      heal: { $0.fleet.simulator.weather = .fair })
  }
}
