import AppStore
import Crypto
import Domain
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import HTTPClient
import HTTPServer
import TestSupport
import Testing

/// What the simulator posts when something happens to a life.
struct SimulatorNotificationTests {
  private let id = "2000000000000001"

  @Test @LoopActor
  func everyChangeIsTold() async throws {
    try await NotificationReceiver.with { (simulator, receiver) async throws in
      let begun = unixMilliseconds()
      try await simulator.begin(id)
      for action in [
        "disable-renewal", "enable-renewal", "downgrade", "extend", "price-increase", "request-refund",
        "decline-refund", "refund", "reverse", "fail", "recover", "upgrade", "expire", "renew",
      ] {
        try await simulator.happens(action, to: id, action == "downgrade" ? #"{"product": "weekly"}"# : nil)
      }
      try await simulator.begin("2000000000000002", #"{"kind": "consumable"}"#)
      let expected = [
        "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
        "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "RENEWAL_EXTENDED/",
        "PRICE_INCREASE/PENDING", "CONSUMPTION_REQUEST/", "REFUND_DECLINED/", "REFUND/", "REFUND_REVERSED/",
        "DID_FAIL_TO_RENEW/", "DID_RENEW/BILLING_RECOVERY", "DID_CHANGE_RENEWAL_PREF/UPGRADE", "EXPIRED/VOLUNTARY",
        "SUBSCRIBED/RESUBSCRIBE", "ONE_TIME_CHARGE/",
      ]
      try await eventually("every change is posted") { receiver.bodies.count == expected.count }
      // Posts overtake each other, and two changes may share a millisecond: the archive alone has their order.
      let order = try await simulator.sent().map(\.notificationUUID)
      let posted = try receiver.bodies.indices.map { try receiver.verified($0, by: simulator) }
      let all = order.flatMap { uuid in posted.filter { $0.payload.notificationUUID?.text == uuid } }
      #expect(
        all.map { "\($0.payload.notificationType?.rawValue ?? "")/\($0.payload.subtype?.rawValue ?? "")" } == expected)
      #expect(Set(all.compactMap(\.payload.notificationUUID)).count == expected.count)
      for notification in all {
        let data = try #require(notification.payload.data)
        #expect(data.bundleId == "com.example.video" && data.appAppleId == 1_234_567_890)
        #expect(data.environment == .production && notification.payload.version == "2.0")
        #expect(try #require(notification.payload.signedDate) >= begun)
        #expect(notification.transaction?.payload.signedDate == notification.payload.signedDate)
        let isSubscription = notification.transaction?.payload.originalTransactionId?.text == id
        #expect((notification.renewalInfo != nil) == isSubscription && (data.status != nil) == isSubscription)
      }
      #expect(all[6].payload.data?.consumptionRequestReason?.rawValue == "UNINTENDED_PURCHASE")
      #expect(all[8].transaction?.payload.revocationDate != nil && all[8].payload.data?.status == .revoked)
      #expect(all[9].transaction?.payload.revocationDate == nil && all[9].payload.data?.status == .active)
      #expect(all[10].payload.data?.status == .billingRetry && all[13].payload.data?.status == .expired)
      try await eventually("the last answer") { try await simulator.notifications().waiting == 0 }
      let counts = try await simulator.notifications().counts
      #expect(counts.told == 16 && counts.posts == 16 && counts.received == 16 && counts.retried == 0)
      let metrics = try await simulator.client.send(HTTPClientRequest("GET", simulator.url("/metrics")))
      #expect(
        String(decoding: metrics.body, as: UTF8.self)
          .contains("countersign_simulator_posts_total{result=\"SUCCESS\"} 16"))
    }
  }

  /// Apple's repetitions have the same bytes.
  @Test @LoopActor
  func itIsRepeatedUntilItIsReceived() async throws {
    try await NotificationReceiver.with(month: .seconds(3)) { (simulator, receiver) async throws in
      receiver.status = { [500, 302, 404, 206][min($0, 3)] }
      try await simulator.begin(id)
      try await eventually("it is received") { try await simulator.sent().first?.delivered == true }
      #expect(receiver.bodies.count == 4 && Set(receiver.bodies).count == 1)
      let sent = try #require(try await simulator.sent().first)
      #expect(sent.attempts.map(\.status) == [500, 302, 404, 206])
      #expect(sent.attempts.map(\.result).first == "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
      #expect(sent.attempts.last?.result == "SUCCESS")
      let counts = try await simulator.notifications().counts
      #expect(counts.posts == 4 && counts.refused == 3 && counts.received == 1 && counts.retried == 3)
    }
  }

  @Test @LoopActor
  func itIsGivenUpAfterSixAttempts() async throws {
    try await NotificationReceiver.with(month: .seconds(3)) { (simulator, receiver) async throws in
      receiver.status = { _ in 503 }
      try await simulator.begin(id)
      try await eventually("the last attempt") { try await simulator.notifications().counts.givenUp == 1 }
      #expect(receiver.bodies.count == 6)
      #expect(try await simulator.sent().first?.delivered == false)
      // The sandbox makes one attempt.
      try await simulator.begin("2000000000000002", #"{"environment": "sandbox", "periodSeconds": 7200}"#)
      try await eventually("the only attempt") { try await simulator.notifications().counts.givenUp == 2 }
      #expect(receiver.bodies.count == 7)
      // A receiver that is away is tried again, too.
      try await simulator.begin("2000000000000003", #"{"notify": ["http://127.0.0.1:1"], "periodSeconds": 7200}"#)
      try await eventually("the receiver is away") { try await simulator.notifications().counts.givenUp == 3 }
      let away = try await simulator.sent("?transactionId=2000000000000003")
      #expect(away.map { $0.attempts.map(\.result) } == [Array(repeating: "NO_RESPONSE", count: 6)])
    }
  }

  @Test @LoopActor
  func someAreLostRepeatedLateAndOutOfOrder() async throws {
    let faults = """
      "lose": 0.2, "repeat": 0.2, "delay": {"share": 0.3, "maxSeconds": 0.05}, "shuffle": true, "seed": 3
      """
    try await NotificationReceiver.with(faults) { (simulator, receiver) async throws in
      let lines = (0..<200).map { #"{"originalTransactionId": "\#(3_000_000 + $0)", "periodSeconds": 7200}"# }
      #expect(try await simulator.control("PUT", "lives", lines.joined(separator: "\n")).status == 201)
      try await eventually("everything is posted") { try await simulator.notifications().waiting == 0 }
      let counts = try await simulator.notifications().counts
      #expect(counts.told == 200 && 20...60 ~= counts.lost && 15...50 ~= counts.repeated && counts.delayed > 100)
      #expect(receiver.bodies.count == 200 - counts.lost + counts.repeated)
      #expect(Set(receiver.bodies).count == 200 - counts.lost)
      let dates = try receiver.bodies.indices.compactMap {
        try receiver.verified($0, by: simulator).payload.signedDate
      }
      #expect(dates != dates.sorted())
      let sent = try await simulator.sent("?limit=1000")
      #expect(sent.filter(\.lost).count == counts.lost)
      // Apple believes that some of the lost ones were received.
      #expect(Set(sent.filter(\.lost).flatMap(\.attempts).map(\.result)) == ["SUCCESS", "NO_RESPONSE"])
    }
  }

  @Test @LoopActor
  func versionOneIsPlainJSON() async throws {
    struct Old: Decodable {
      struct Receipt: Decodable {
        struct Info: Decodable { var transactionId: String }

        var latestReceipt: String
        var latestReceiptInfo: [Info]
      }

      var notificationType: String
      var password: String
      var unifiedReceipt: Receipt
    }
    try await NotificationReceiver.with(#""version": 1, "password": "s3cret""#) { (simulator, receiver) async throws in
      try await simulator.begin(id)
      // Version 1 has no word for an end.
      try await simulator.happens("expire", to: id)
      try await simulator.happens("renew", to: id)
      try await eventually("two are posted") { receiver.bodies.count == 2 }
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      let bodies = try receiver.bodies.map { try decoder.decode(Old.self, from: Data($0)) }
      #expect(Set(bodies.map(\.notificationType)) == ["INITIAL_BUY", "INTERACTIVE_RENEWAL"])
      let last = try #require(bodies.first { $0.notificationType == "INTERACTIVE_RENEWAL" })
      #expect(last.password == "s3cret" && last.unifiedReceipt.latestReceiptInfo.last?.transactionId == id)
      let verifier = ReceiptVerifier(roots: try TrustedRoots(files: [simulator.folder + "/root.der"]))
      let apps = AcceptedApps([AcceptedApps.App(bundleId: "com.example.video")])
      #expect(
        verifier.receipt(last.unifiedReceipt.latestReceipt, expecting: apps).payload?.inApp.count
          == last.unifiedReceipt.latestReceiptInfo.count)
      #expect(try await simulator.notifications().counts.told == 3)
    }
  }

  @Test @LoopActor
  func settingsAreChecked() async throws {
    try await NotificationReceiver.with { (simulator, receiver) async throws in
      #expect(try await simulator.notifications().urls == [receiver.url])
      #expect(try await simulator.control("PUT", "notifications", #"{"lose": 3}"#).status == 400)
      #expect(try await simulator.notifications().urls == [receiver.url])
      #expect(try await simulator.control("POST", "notifications").status == 405)
      #expect(try await simulator.control("PUT", "notifications/sent").status == 405)
      for path in ["notifications/other", "notifications?x=1", "notifications/sent?limit=0"] {
        #expect(try await simulator.control("GET", path).status == 404, "\(path)")
      }
      // Without URLs, Apple tells nobody.
      #expect(try await simulator.control("PUT", "notifications", "{}").status == 200)
      try await simulator.begin(id)
      try await simulator.begin("2000000000000002", #"{"quiet": true, "periodSeconds": 7200}"#)
      let told = try await simulator.sent()
      #expect(told.map(\.notificationType) == ["SUBSCRIBED"] && told[0].attempts.isEmpty)
      #expect(receiver.bodies.isEmpty)
    }
  }
}
