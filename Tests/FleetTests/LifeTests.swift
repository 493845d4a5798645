import Domain
import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import ServerSupport
import Simulator
import TestSupport
import Testing

/// A purchase goes on after its registration: Apple's notifications and the ledger's own timers change it.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct LifeTests {
  private static let token = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

  /// Makes something happen to a life of the simulator.
  private func live(_ fleet: RunningFleet, _ action: String, _ body: String = "{}") async throws {
    let method = action.contains("/") ? "POST" : "PUT"
    let answer = await fleet.simulator.control(method, "/simulator/lives/\(action)", body)
    #expect(answer.status < 300, "\(action): \(String(decoding: answer.body, as: UTF8.self))")
  }

  /// Lets the simulator post to the first gateway.
  private func post(_ fleet: RunningFleet, version: Int = 2, to path: String = "/apple/notifications") async throws {
    let answer = await fleet.simulator.control(
      "PUT", "/simulator/notifications",
      "{\"urls\": [\"\(fleet.url(path))\"], \"version\": \(version), \"password\": \"\(RunningFleet.sharedSecret)\"}")
    #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
  }

  /// The state that the purchase and its access must come to.
  private func expect(
    _ fleet: RunningFleet, _ id: String, rule: String, granted: Bool, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try await eventually("\(id) is \(rule)") {
      guard let purchase = try await fleet.purchase(id, environment: "Production").body else { return false }
      return purchase.access?.rule == rule && purchase.access?.accessGranted == granted
    }
  }

  @Test func `a purchase follows its life by notifications alone`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1", "notifier-1"], hasDoors: false) { fleet in
      try await post(fleet)
      _ = try await fleet.putCustomer("9", "{\"appAccountToken\": \"\(Self.token)\"}")
      let id = "20000000000001"
      try await live(fleet, id, "{\"appAccountToken\": \"\(Self.token)\", \"periodSeconds\": 3600, \"graceDays\": 16}")
      // Nobody registers it: the customer's token claims it.
      try await expect(fleet, id, rule: "subscriptionActive", granted: true)
      try await live(fleet, "\(id)/renew")
      try await live(fleet, "\(id)/fail", "{\"grace\": true}")
      try await expect(fleet, id, rule: "gracePeriod", granted: true)
      try await live(fleet, "\(id)/recover")
      try await expect(fleet, id, rule: "subscriptionActive", granted: true)
      try await live(fleet, "\(id)/refund")
      try await expect(fleet, id, rule: "revoked", granted: false)
      try await live(fleet, "\(id)/reverse")
      try await expect(fleet, id, rule: "subscriptionActive", granted: true)
      try await live(fleet, "\(id)/expire")
      try await expect(fleet, id, rule: "expired", granted: false)
      #expect(try await fleet.metric("worker-1", "countersign_notifications_applied_total{outcome=\"told\"}") >= 6)
    }
  }

  @Test func `access ends by our own clock, and Apple is asked, without a notification`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1", "notifier-1"], hasDoors: false) { fleet in
      // Each has an offer of its own: access to one offer lasts as long as the longer purchase gives it.
      let renewed = "20000000000003"
      try await live(fleet, renewed, "{\"autoRenews\": true, \"product\": \"yearly\", \"periodSeconds\": 4}")
      #expect(try await fleet.register(renewed, id: "s-\(renewed)").status == 202)
      try await expect(fleet, renewed, rule: "subscriptionActive", granted: true)
      var ended = ""
      // On a machine that stands still a purchase may end before a worker has seen it. The next one lasts longer.
      for (number, period) in [4, 8, 16, 32, 64].enumerated() {
        ended = "2000000000002\(number)"
        try await live(
          fleet, ended, "{\"autoRenews\": false, \"product\": \"monthly\", \"periodSeconds\": \(period)}")
        let id = "s-\(ended)"
        #expect(try await fleet.register(ended, id: id).status == 202)
        if try await fleet.finished([id]).contains(where: { $0.synchronizationId == id && $0.accessGranted }) { break }
      }
      try await expect(fleet, ended, rule: "expired", granted: false)
      try await eventually("the renewal is found") {
        guard let purchase = try await fleet.purchase(renewed, environment: "Production").body else { return false }
        return purchase.transactionId != renewed && purchase.access?.accessGranted == true
      }
      // The end was told, too.
      try await fleet.changes.wait { changes in
        changes.contains { $0.offerId == "S1" && $0.before?.accessGranted == true && $0.after?.accessGranted == false }
      }
    }
  }

  @Test func `an old notification makes a worker ask Apple`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1", "notifier-1"], hasDoors: false) { fleet in
      let path = "/1.0/in_app/subscriptions/apple/status_update_notification/\(RunningFleet.publisher)"
      try await post(fleet, version: 1, to: path)
      let id = "20000000000004"
      try await live(fleet, id, "{\"quiet\": true, \"periodSeconds\": 3600}")
      #expect(try await fleet.register(id, id: "s-v1").status == 202)
      try await expect(fleet, id, rule: "subscriptionActive", granted: true)
      try await live(fleet, "\(id)/refund")
      try await expect(fleet, id, rule: "revoked", granted: false)
      #expect(try await fleet.metric("gateway-1", "countersign_notifications_total{outcome=\"hint\"}") >= 1)
    }
  }

  @Test func `forged, foreign, malformed and oversized notifications change nothing`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1", "notifier-1"], hasDoors: false) { fleet in
      let genuine = try await fleet.minted("jws/1000000000000042")
      let tampered = genuine.dropLast(6) + "AAAAAA"
      let bodies = [
        "{\"signedPayload\": \"\(genuine)\"}",  // signed by Apple, and no notification
        "{\"signedPayload\": \"\(tampered)\"}", "{\"signedPayload\": \"\"}", "{\"signedPayload\": 5}", "[]", "", "{}",
        "{\"notification_type\": \"REFUND\", \"environment\": \"PROD\", \"bid\": \"com.example.app\", \"password\": \"wrong\"}",
      ]
      let paths = [
        "/apple/notifications", "//apple/notifications/",
        "/1.0/in_app/subscriptions/apple/status_update_notification/\(RunningFleet.publisher)",
      ]
      for path in paths {
        for body in bodies {
          let answer = try await fleet.send("POST", fleet.url(path), [("Content-Type", "application/json")], body)
          #expect(answer.status == 400, "\(path) \(body.prefix(80))")
        }
        // One of this length is read, and is not Apple's.
        let large = "{\"signedPayload\": \"\(String(repeating: "a", count: 1 << 20))\"}"
        let read = try await fleet.send("POST", fleet.url(path), [("Content-Type", "application/json")], large)
        #expect(read.status == 400)
        let long = "{\"signedPayload\": \"\(String(repeating: "a", count: 3 << 20))\"}"
        let answer = try await fleet.send("POST", fleet.url(path), [("Content-Type", "application/json")], long)
        #expect(answer.status == 413)
      }
      let unknown = try await fleet.send(
        "POST", fleet.url("/1.0/in_app/subscriptions/apple/status_update_notification/77"),
        [("Content-Type", "application/json")], "{}")
      #expect(unknown.status == 404)
      #expect(try await fleet.count("notifications") == 0)
      #expect(try await fleet.count("purchases") == 0)
    }
  }
}
