import AppStore
import Crypto
import Domain
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import HTTP2
import HTTPClient
import Simulator
import TestSupport
import Testing

/// The calls of the App Store Server API about notifications.
struct SimulatorNotificationCallTests {
  private let id = "2000000000000001"

  /// What Apple sent or tried to send, from all pages.
  private static func all(
    _ request: NotificationHistoryRequest, in environment: Environment, _ api: AppStoreServerAPI,
    _ app: AppCredentials
  ) async throws -> [SentNotification] {
    var (all, token, hasMore) = ([SentNotification](), String?.none, true)
    while hasMore {
      let page = try await api.notificationHistory(request, paginationToken: token, in: environment, for: app).body
      all += page.notificationHistory ?? []
      (token, hasMore) = (page.paginationToken, page.hasMore ?? false)
    }
    return all
  }

  @Test @LoopActor
  func historyHasWhatWasLost() async throws {
    try await NotificationReceiver.with(#""lose": 0.5, "seed": 5"#) { (simulator, receiver) async throws in
      let start = unixMilliseconds() - 1000
      let lines = (0..<50).map { #"{"originalTransactionId": "\#(3_000_000 + $0)", "periodSeconds": 7200}"# }
      #expect(try await simulator.control("PUT", "lives", lines.joined(separator: "\n")).status == 201)
      try await simulator.begin(id, #"{"bundleId": "com.example.music", "notify": []}"#)
      try await eventually("everything is posted") { try await simulator.notifications().waiting == 0 }
      let lost = try await simulator.notifications().counts.lost
      #expect(lost > 10 && receiver.bodies.count + lost == 50)

      let (api, app, client) = simulator.api()
      defer { client.close() }
      var request = NotificationHistoryRequest(startDate: start, endDate: unixMilliseconds() + 60_000)
      let all = try await Self.all(request, in: .production, api, app)
      #expect(all.count == 50)
      let apps = AcceptedApps([AcceptedApps.App(bundleId: "com.example.video", appAppleId: 1_234_567_890)])
      let verifier = try simulator.signedDataVerifier()
      let ids = try all.map {
        let verdict = verifier.notification(try #require($0.signedPayload), expecting: apps)
        return try #require(verdict.payload?.transaction?.payload.originalTransactionId)
      }
      #expect(ids == (0..<50).map { OriginalTransactionId(String(3_000_000 + $0)) })
      // A page shows the bytes that were posted.
      let payloads = Set(all.compactMap(\.signedPayload))
      for body in receiver.bodies {
        let posted = try JSONDecoder().decode([String: String].self, from: Data(body))["signedPayload"]
        #expect(payloads.contains(try #require(posted)))
      }

      request.onlyFailures = true
      let failures = try await Self.all(request, in: .production, api, app)
      #expect(!failures.isEmpty && failures.count < lost)
      request.onlyFailures = nil
      request.transactionId = "3000007"
      #expect(try await Self.all(request, in: .production, api, app).count == 1)
      #expect(try await Self.all(request, in: .sandbox, api, app).isEmpty)
    }
  }

  @Test @LoopActor
  func callersAreChecked() async throws {
    try await NotificationReceiver.with { (simulator, _) async throws in
      let now = unixMilliseconds()
      let good = "{\"startDate\": \(now - 1000), \"endDate\": \(now)}"
      func post(_ path: String, _ body: String, type: String? = "application/json") async throws -> HTTPClientResponse {
        try await simulator.send("POST", path, body, type: type)
      }
      #expect(try await post("v1/notifications/history", good).status == 200)
      #expect(try await post("v1/notifications/history", good, type: nil).status == 400)
      #expect(try await post("v1/notifications/history", good, type: "text/plain").status == 400)
      #expect(try await post("v1/notifications/history", "").status == 400)
      #expect(try await post("v1/notifications/history?page=1", good).status == 400)
      let bad = try await post("v1/notifications/history?paginationToken=x", good)
      #expect(try bad.decoded(as: FailureBody.self).errorCode == 4_000_014)
      let late = try await post("v1/notifications/history", "{\"startDate\": 1, \"endDate\": 2}")
      #expect(try late.decoded(as: FailureBody.self).errorCode == 4_000_012)
      let stranger = HTTPClientRequest(
        "POST", simulator.url("/production/inApps/v1/notifications/history"),
        headers: [("content-type", "application/json")], body: Array(good.utf8))
      #expect(try await simulator.client.send(stranger).status == 401)
    }
  }

  @Test @LoopActor
  func aTestIsPosted() async throws {
    struct Token: Decodable { var testNotificationToken: String }

    try await NotificationReceiver.with(#""version": 1"#) { (simulator, receiver) async throws in
      let answer = try await simulator.send("POST", "v1/notifications/test")
      let token = try answer.decoded(as: Token.self).testNotificationToken
      try await eventually("the test is posted") { try await simulator.notifications().waiting == 0 }
      let test = try receiver.verified(0, by: simulator)
      #expect(test.payload.notificationType == .test && test.transaction == nil)
      #expect(token.hasPrefix(try #require(test.payload.notificationUUID).text))
      let status = try await simulator.call("v1/notifications/test/\(token)").decoded(as: SentNotification.self)
      #expect(status.sendAttempts?.count == 1 && status.signedPayload != nil)

      let unknown = "00000000-0000-4000-8000-000000000000_1"
      for (path, code) in [(unknown, 4_040_008), ("x", 4_000_020), ("x_y", 4_000_020)] {
        let answer = try await simulator.call("v1/notifications/test/\(path)")
        #expect(try answer.decoded(as: FailureBody.self).errorCode == code)
      }
      #expect(try await simulator.call("v1/notifications/test/\(token)", in: "sandbox").status == 404)
      #expect(try await simulator.control("PUT", "notifications", #"{"urls": []}"#).status == 200)
      let nowhere = try await simulator.send("POST", "v1/notifications/test")
      #expect(try nowhere.decoded(as: FailureBody.self).errorCode == 4_040_007)
    }
  }

  @Test @LoopActor
  func notificationsAreForgedOnDemand() async throws {
    try await RunningSimulator.with { simulator async throws in
      try await simulator.begin(id)
      let verifier = try simulator.signedDataVerifier()
      let apps = AcceptedApps([AcceptedApps.App(bundleId: "com.example.video", appAppleId: 1_234_567_890)])
      func verdict(_ path: String) async throws -> Verdict<VerifiedNotification> {
        let jws = try await simulator.control("GET", "notification/\(path)")
        #expect(jws.status == 200)
        return verifier.notification(String(decoding: jws.body, as: UTF8.self), expecting: apps)
      }
      let good = try #require(try await verdict("\(id)?type=PARTY&subtype=WILD").payload)
      #expect(good.payload.notificationType?.rawValue == "PARTY" && good.payload.subtype?.rawValue == "WILD")
      #expect(
        good.transaction?.payload.transactionId?.text == id && good.renewalInfo != nil
          && good.payload.data?.status == .active
      )
      #expect(try await verdict("1020000000000001").payload?.transaction?.payload.revocationDate != nil)
      for (query, reason) in [
        ("seal=tampered", Rejection.Reason.signatureInvalid), ("seal=foreignRoot", .chainUntrusted),
        ("seal=unmarked", .markerOIDMissing), ("innerSeal=foreignRoot", .chainUntrusted),
        ("innerSeal=tampered", .signatureInvalid),
      ] {
        #expect(try await verdict("\(id)?\(query)").rejection?.reason == reason, "\(query)")
      }
      #expect(try await verdict("1410000000000001").rejection?.reason == .chainUntrusted)
      #expect(try await verdict("1430000000000001").rejection?.reason == .bundleIdMismatch)
      // The parts are about two purchases.
      #expect(try await verdict("\(id)?transaction=1000000000000001").payload == nil)
      for path in ["x", "1?seal=gold", "1?page=2"] {
        #expect(try await simulator.control("GET", "notification/\(path)").status == 404, "\(path)")
      }
      #expect(try await simulator.sent().count == 1)
    }
  }

  @Test @LoopActor
  func consumptionIsRecorded() async throws {
    try await RunningSimulator.with { simulator async throws in
      let good = """
        {"customerConsented": true, "sampleContentProvided": false, "deliveryStatus": "DELIVERED",
         "refundPreference": "DECLINE"}
        """
      try await simulator.begin(id, #"{"kind": "consumable"}"#)
      try await simulator.happens("request-refund", to: id, #"{"reason": "LEGAL"}"#)
      let answer = try await simulator.send("PUT", "v2/transactions/consumption/\(id)", good)
      #expect(answer.status == 202 && answer.body.isEmpty)
      let old = """
        {"customerConsented": true, "sampleContentProvided": false, "appAccountToken": "", "accountTenure": 0,
         "consumptionStatus": 2, "deliveryStatus": 0, "lifetimeDollarsPurchased": 0, "lifetimeDollarsRefunded": 0,
         "platform": 1, "playTime": 0, "userStatus": 1}
        """
      #expect(try await simulator.send("PUT", "v1/transactions/consumption/\(id)", old).status == 202)
      let request = try #require(try await simulator.life(id).refundRequests.first)
      #expect(request.reason == "LEGAL" && request.transactionId == id)
      #expect(request.answers.map(\.version) == [2, 1] && request.answers.allSatisfy(\.inTime))
      #expect(request.answers[0].body.refundPreference == "DECLINE" && request.answers[1].body.consumptionStatus == 2)

      func code(_ id: String, _ body: String) async throws -> Int {
        try await simulator.send("PUT", "v2/transactions/consumption/\(id)", body).decoded(as: FailureBody.self)
          .errorCode
      }
      #expect(try await code(id, "{}") == 4_000_035)
      #expect(try await code("1200000000000001", good) == 4_040_010)
      #expect(try await code("abc", good) == 4_000_006)
      try await simulator.begin("2000000000000002", #"{"familyShared": true, "periodSeconds": 7200}"#)
      #expect(try await code("2000000000000002", good) == 4_000_185)
      try await simulator.begin("2000000000000003", #"{"environment": "sandbox", "periodSeconds": 7200}"#)
      #expect(try await code("2000000000000003", good) == 4_040_010)
      // A scenario's purchase takes an answer, and forgets it.
      #expect(try await simulator.send("PUT", "v2/transactions/consumption/1000000000000001", good).status == 202)
      // The weather is that of every call.
      simulator.simulator.weather = .rateLimited(milliseconds: 1000)
      #expect(try await simulator.send("PUT", "v2/transactions/consumption/\(id)", good).status == 429)
      #expect(try await simulator.send("POST", "v1/notifications/test").status == 429)
    }
  }
}

extension RunningSimulator {
  /// Makes a call with a body, as a worker does.
  func send(
    _ method: String, _ endpoint: String, _ body: String = "", type: String? = "application/json"
  ) async throws -> HTTPClientResponse {
    var headers = [("accept", "application/json"), ("authorization", "Bearer \(try Token().signed(with: key))")]
    if let type { headers.append(("content-type", type)) }
    return try await client.send(
      HTTPClientRequest(
        method, url("/production/inApps/\(endpoint)"), headers: headers, body: Array(body.utf8), timeout: .seconds(120))
    )
  }

  /// The workers' own client of the App Store Server API.
  func api() -> (AppStoreServerAPI, AppCredentials, HTTP2Client) {
    var configuration = AppStoreServerAPI.Configuration()
    configuration.productionURL = url("/production")
    configuration.sandboxURL = url("/sandbox")
    var settings = HTTPClientConfiguration.patient
    settings.caFile = "\(folder)/tls-ca.pem"
    let own = HTTP2Client(settings, fallback: client)
    let app = AppCredentials(
      bundleId: BundleId(Self.app.bundleId.text), issuerId: IssuerId(Self.app.issuerId), keyId: KeyId(Self.app.keyId),
      key: key)
    return (AppStoreServerAPI(configuration, client: own), app, own)
  }
}
