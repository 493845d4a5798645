import EventLoop
import Fleets
import HTTP
import TestSupport

extension Scenario {
  /// Callers without a credential, and one with the public key of another publisher's app, send the gateways what no
  /// client would send, and hold on to what they get.
  static let strangers = Scenario(
    name: "strangers", what: "malformed and slow callers beside the load, of two publishers",
    // So few places that the strangers' four addresses take them all, and deadlines that fit into a run.
    environment: [
      "COUNTERSIGN_GATEWAY_MAX_CONNECTIONS": "800", "COUNTERSIGN_GATEWAY_MAX_CONNECTIONS_PER_ADDRESS": "200",
      "COUNTERSIGN_GATEWAY_HEAD_TIMEOUT_SECONDS": "2", "COUNTERSIGN_GATEWAY_BODY_TIMEOUT_SECONDS": "5",
    ],
    // Each publisher with the app keeps each notification.
    publishers: 2, hasOtherDoors: true, leastSeconds: 30,
    expectations: Verdict.Expectations(isGraceful: true)
  ) { chaos in
    let crowd = StrangerCrowd(chaos.fleet)
    defer { crowd.leave() }
    // First they take what there is, then they keep coming.
    for gateway in Chaos.gateways {
      for habit in [StrangerHabit.halfHead, .slowNotification, .slowReceipt] {
        for _ in 0..<400 { try crowd.send(habit, to: gateway) }
        chaos.injected("400 times \(habit) at \(gateway)")
      }
    }
    var posted = 0
    // Each habit has come once before one comes again, and all of them come in the shortest run.
    var deck: [StrangerHabit] = []
    while chaos.goesOn || posted * 4 < StrangerHabit.allCases.count {
      if deck.isEmpty { deck = StrangerHabit.allCases.shuffled(using: &chaos.random) }
      let drawn = deck.prefix(4)
      deck.removeFirst(drawn.count)
      for habit in drawn {
        let gateway = Chaos.gateways.randomElement(using: &chaos.random)!
        try crowd.send(habit, to: gateway)
        chaos.injected("\(habit) at \(gateway)")
      }
      try await chaos.postNotification(posted, to: Chaos.gateways[posted % 2])
      posted += 1
      crowd.trickle()
      try await chaos.pause(0.05...0.1)
    }
    let refused = chaos.history.registrations.count { $0.answer == .refused }
    guard refused == 0 else { throw ScenarioFailure(description: "\(refused) registrations found no place") }
    try await eventually("the gateways have ended what the strangers hold") {
      crowd.trickle()
      return crowd.held == 0
    }
    for name in Chaos.roles where chaos.fleet.roles[name]?.process.status != nil {
      throw ScenarioFailure(description: "\(name) has ended")
    }
    chaos.history.measures.append("\(posted) genuine notifications were taken beside \(crowd.count) strangers")
  }
}

/// The strangers of one run. Those of each habit come from few addresses.
@LoopActor
private final class StrangerCrowd {
  /// How many there were.
  private(set) var count = 0

  private let fleet: RunningFleet
  private var strangers: [(habit: StrangerHabit, caller: Stranger)] = []

  init(_ fleet: RunningFleet) { self.fleet = fleet }

  /// How many connections are open that a gateway must end.
  var held: Int { strangers.count { $0.habit.mustEnd && !$0.caller.hasEnded } }

  func send(_ habit: StrangerHabit, to gateway: String) throws {
    guard let port = fleet.roles[gateway]?.address.split(separator: ":").last.flatMap({ Int($0) }) else { return }
    count += 1
    let caller = try Stranger(from: "127.0.7.\(habit == .slowReceipt ? 9 : 1 + count % 3)", to: port)
    caller.send(habit.bytes)
    strangers.append((habit, caller))
  }

  /// Lets the slow ones send their next byte.
  func trickle() { for (habit, caller) in strangers where habit.isSlow { caller.send(" ") } }

  func leave() { for (_, caller) in strangers { caller.close() } }
}

extension Chaos {
  /// Posts a notification as Apple does. It must be taken while the strangers are there.
  fileprivate func postNotification(_ number: Int, to gateway: String) async throws {
    let text = try await fleet.minted("notification/10099\(90_000_000 + number)?type=DID_RENEW")
    let sentAt = unixMilliseconds()
    let answer: HTTPClientResponse
    do {
      answer = try await fleet.send(
        "POST", fleet.url("/apple/notifications", gateway: gateway), [("Content-Type", "application/json")],
        "{\"signedPayload\":\"\(text)\"}", freshly: true)
    } catch {
      let stalls = history.stalls.filter { $0.time >= sentAt }.map { "\($0.milliseconds) ms" }
      throw ScenarioFailure(
        description: "a genuine notification was not answered within \(unixMilliseconds() - sentAt) ms: \(error); "
          + "meanwhile this process stalled for \(stalls); \(await cuts(of: gateway))")
    }
    guard answer.status == 200 else {
      throw ScenarioFailure(description: "a genuine notification was answered with \(answer.status)")
    }
  }

  /// What a gateway counts of connections and requests.
  private func cuts(of gateway: String) async -> String {
    let name = "countersign_http_"
    guard let answer = try? await fleet.send("GET", "http://\(fleet.roles[gateway]!.address)/metrics") else {
      return "\(gateway) does not answer"
    }
    let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n").filter {
      $0.hasPrefix(name) && !$0.contains("_bucket")
    }
    return "\(gateway) has counted \(lines.map { $0.dropFirst(name.count) })"
  }
}
