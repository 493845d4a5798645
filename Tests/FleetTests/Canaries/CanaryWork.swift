import AMQP
import Crypto
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import Glibc
import HTTP
import HTTPServer
import JSON
import Redis
import Simulator
import TestSupport
import Testing

/// What a fleet with canaries does: ordinary work, refused requests, and failures of every server.
@LoopActor
struct CanaryWork {
  let fleet: RunningFleet
  let plan: CanaryPlan
  let caught: CanaryCatch
  let receiver: WebhookReceiver

  private var token: [(name: String, value: String)] { [("X-Publisher-Token", plan.text("tokenHashes"))] }

  func run() async throws {
    try await manageEndpoints()
    try await deliver()
    try await register()
    try await knockAtDoors()
    try await postNotifications()
    try await reload()
    try await failToConnect()
    try await checkConfigurations()
    try await rekey()
  }

  // MARK: Webhooks

  /// Creates endpoints with secrets of the publisher's own, rotates one, and sends what is refused.
  private func manageEndpoints() async throws {
    func create(_ members: String) async throws -> String {
      // Only the answer that creates an endpoint shows its secret. It is not kept here.
      let answer = try await fleet.send(
        "POST", fleet.url("/3.1/webhook_endpoints"), token + [("Content-Type", "application/json")], "{\(members)}")
      #expect(answer.status == 201, "\(String(decoding: answer.body, as: UTF8.self))")
      guard case .object(let body) = try JSONText(answer.body).decoded(as: JSONValue.self) else { return "" }
      return JSONValue.object(body).text("id") ?? ""
    }
    let (never, topics) = (#""retryPolicy":{"enabled":false}"#, #""topics":["inappPurchaseSyncResult"]"#)
    let secrets = plan.sent.mapValues { Base64.encode($0.bytes) }
    let first = try await create(
      #""url":"\#(receiver.url("echo"))",\#(topics),\#(never),"secret":"whsec_\#(secrets["whsec"]!)""#)
    let key = try await create(
      #""url":"\#(receiver.url("echo"))",\#(topics),"signature":"v1a","secret":"whsk_\#(secrets["whsk"]!)""#)
    let fovea = try await create(
      #""url":"\#(receiver.url("echo"))","format":"fovea",\#(never),"secret":"\#(plan.sent["fovea"]!.text)""#)
    let mbaasy = try await create(
      #""url":"\#(receiver.url("echo"))","format":"mbaasy","secret":"\#(plan.sent["mbaasy"]!.text)""#)
    // Its answer shows the new secret, too.
    let rotation = try await fleet.send(
      "POST", fleet.url("/3.1/webhook_endpoints/\(first)/rotate_secret"),
      token + [("Content-Type", "application/json")],
      #"{"secret":"whsec_\#(secrets["rotated"]!)","overlapSeconds":60}"#)
    #expect(rotation.status == 200)
    // Everything that an endpoint gets comes back in its answer.
    receiver.answers["echo"] = { [receiver] number in
      let request = receiver.got("echo")[number - 1].request
      return HTTPServerResponse(status: 500, headers: [], body: request.body)
    }
    receiver.answers["file"] = { _ in .text(500, "no") }
    let malformed = plan.sent["malformed"]!.text
    for body in [
      #"{"url":"https://example.com","secret":"\#(malformed)"}"#,
      #"{"url":"https://example.com","secret":{"\#("a")":"\#(malformed)"}}"#,
      #"{"url":"https://user:\#(malformed)@example.com"}"#, #"{"secret":"\#(malformed)""#,
    ] {
      #expect(try await caught.send("POST", "/3.1/webhook_endpoints", token, body).status == 400)
    }
    try await caught.send(
      "PUT", "/3.1/webhook_subscriptions/inappPurchaseSyncResult", token,
      #"""
      [{"url":"\#(receiver.url("echo"))?put","verification":
        {"name":"HMAC","options":{"hashAlg":"SHA256","sharedSecret":"\#(plan.sent["subscription"]!.text)"}}}]
      """#)
    for id in [first, key, fovea, mbaasy, "file"] {
      try await caught.send("POST", "/3.1/webhook_endpoints/\(id)/test", token)
      try await caught.send("GET", "/3.1/webhook_endpoints/\(id)", token)
      try await caught.send("PATCH", "/3.1/webhook_endpoints/\(id)", token, #"{"name":"x"}"#)
    }
    try await caught.send("GET", "/3.1/webhook_endpoints", token)
  }

  /// Delivers events until every attempt of theirs has failed, and reads the log of attempts.
  private func deliver() async throws {
    try await fleet.send(fleet.commit(["evt_canary"], of: CanaryPlan.publisher))
    // Two never try again; the others use up the fleet's schedule.
    try await eventually("deliveries are dead") {
      try await fleet.metric("notifier-1", "countersign_dead_deliveries_total") >= 3
    }
    let answer = try await caught.send("GET", "/3.1/webhook_endpoints", token)
    guard case .object(let body) = try JSONText(answer.body).decoded(as: JSONValue.self),
      case .array(let endpoints)? = body["endpoints"]
    else { throw NeverHappened(description: "no list of endpoints") }
    #expect(endpoints.count == 6)
    for id in endpoints.compactMap({ $0.text("id") }) {
      try await caught.send("GET", "/3.1/webhook_endpoints/\(id)/attempts", token)
    }
    try await caught.send("GET", "/audit", token)
  }

  // MARK: Purchases

  /// Registers purchases that Apple verifies, refuses and fails, with good tokens and bad ones.
  private func register() async throws {
    #expect(try await fleet.register("1000000000001", id: "good").status == 202)
    _ = try await fleet.finished(["good"])
    fleet.simulator.weather = .failing
    #expect(try await fleet.register("1000000000002", id: "failing").status == 202)
    // The simulator does not know the key of this publisher.
    try await caught.send(
      "POST", "/storekit2/purchases", token + [("Correlation-Id", "unauthorized")],
      #"{"cleengCustomerId":7,"transactionId":"1000000000003"}"#)
    _ = try await fleet.finished(["failing"])
    fleet.simulator.weather = .fair
    try await caught.send("GET", "/storekit2/purchases/synchronizations/unauthorized", token)
    let wrong = plan.invalidToken.text
    for headers in [[("X-Publisher-Token", wrong)], [("Authorization", "Bearer \(wrong)")], [("Authorization", wrong)]]
    {
      try await caught.send("GET", "/customers/7/purchases", headers.map { (name: $0.0, value: $0.1) })
    }
    try await caught.send("GET", "/customers/7/purchases?token=\(plan.text("tokenHashes"))", token)
    // A customer's tokens: a good one, one that is over, one with a wrong signature.
    for (expires, key) in [(600, "customerTokens.secretFile"), (-600, "customerTokens.secretFile"), (600, "redis.url")]
    {
      let jwt = customerToken(expires: expires, key: plan.planted[key]!.bytes)
      try await caught.send("GET", "/customers/7/purchases", [("Authorization", "Bearer \(jwt)")])
    }
  }

  private func customerToken(expires: Int, key: [UInt8]) -> String {
    let header = Base64URL.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
    let claims = #"{"customerId":"7","publisherId":\#(CanaryPlan.publisher),"exp":\#(time(nil) + expires)}"#
    let signed = header + "." + Base64URL.encode(Array(claims.utf8))
    return signed + "." + Base64URL.encode(HMACSHA256.authenticate(Array(signed.utf8), key: key))
  }

  /// Uses the credentials of each door, for good requests and for bad ones.
  private func knockAtDoors() async throws {
    let receipt = try fleet.simulator.receipt(["1000000000005"])
    let key = plan.text("doors.iaptic.apiKeyHashes")
    let iaptic = #"{"type":"ios-appstore","id":"1000000000005","appStoreReceipt":"\#(receipt)"}"#
    for (body, key) in [(iaptic, key), (iaptic, key + "x"), ("{}", key), ("{", key), (iaptic, plan.invalidToken.text)] {
      let body = body == iaptic ? #"{"id":"com.example.app","type":"application","transaction":\#(body)}"# : body
      try await caught.send("POST", "/v1/validate?appName=canary&apiKey=\(key)", [], body)
      let basic = "Basic " + Base64.encode(Array("canary:\(key)".utf8))
      try await caught.send("POST", "/v1/validate", [("Authorization", basic)], body)
    }
    for secret in [plan.text("doors.iaptic.secretKeyHashes"), plan.invalidToken.text] {
      let basic = "Basic " + Base64.encode(Array("canary:\(secret)".utf8))
      for path in ["/v2/customers", "/v2/customers/7/purchases", "/v2/customers?limit=x"] {
        try await caught.send("GET", path, [("Authorization", basic)])
      }
    }
    for token in [plan.text("doors.mbaasy.clientTokens"), plan.invalidToken.text] {
      for body in [#"{"receipt":"\#(receipt)"}"#, "{}", "{"] {
        try await caught.send("POST", "/client/itunes_connect/receipts", [("Authorization", "Bearer \(token)")], body)
      }
    }
    for ticket in [customerToken(expires: 600, key: plan.planted["customerTokens.secretFile"]!.bytes), "x"] {
      for method in ["RestoreIOSPurchases", "ValidateIOSReceipt"] {
        try await caught.send(
          "POST", "/Client/\(method)", [("X-Authorization", ticket)], #"{"ReceiptData":"\#(receipt)"}"#)
      }
    }
    for body in [#"{"customerEmail":"a@example.com","offerId":"S1","receipt":{"transactionId":"1"}}"#, "{}", "{"] {
      try await caught.send("POST", "/apple/payment", token, body)
    }
  }

  /// Posts what Apple posts: signed ones, which are passed on, and old ones with the shared secret.
  private func postNotifications() async throws {
    let signed = try await fleet.minted("notification/1000000000042?type=DID_RENEW")
    try await caught.send("POST", "/apple/notifications", [], #"{"signedPayload":"\#(signed)"}"#)
    for password in [plan.text("notifications.sharedSecretHashes"), plan.invalidToken.text] {
      for bid in ["com.example.app", "com.example.unknown"] {
        let members = #""notification_type":"DID_RENEW","environment":"PROD","bid":"\#(bid)","password":"\#(password)""#
        let path = "/1.0/in_app/subscriptions/apple/status_update_notification/\(CanaryPlan.publisher)"
        try await caught.send("POST", path, [], #"{\#(members),"original_transaction_id":"1000000000001"}"#)
        try await caught.send("POST", path, [], "{\(members)")
        try await caught.send("POST", "/apple/notifications", [], "{\(members)}")
      }
    }
    receiver.answers["forward"] = { _ in .text(500, "no") }
    _ = try await receiver.wait("forward", for: 1)
  }

  // MARK: Failures

  /// Lets every role read a publisher's file with mistakes.
  private func reload() async throws {
    let (file, good) = (fleet.folder + "/publishers/canary.json", fleet.folder + "/good.json")
    try FileManager.default.moveItem(atPath: file, toPath: good)
    try FileManager.default.copyItem(atPath: fleet.folder + "/broken/canary.json", toPath: file)
    let names = ["gateway-1", "worker-1", "notifier-1"]
    for name in names { fleet.roles[name]?.process.send(SIGHUP) }
    try await eventually("every role has refused the file") {
      names.allSatisfy { fleet.log($0).contains("still using the old file") }
    }
    try FileManager.default.removeItem(atPath: file)
    try FileManager.default.moveItem(atPath: good, toPath: file)
  }

  /// Starts roles with passwords that are wrong, and with addresses where nobody is.
  private func failToConnect() async throws {
    let servers = TestServers.current!
    func url(_ scheme: String, _ canary: String, _ port: Int, _ path: String) -> String {
      "\(scheme)://canary:\(PercentCoding.encoded(plan.text(canary)))@127.0.0.1:\(port)/\(path)"
    }
    let ledger = fleet.database
    let (amqp, redis) = TestServers.usesTLS ? ("amqps", "rediss") : ("amqp", "redis")
    let wrong: [(role: String, variables: [String: String])] = [
      ("gateway-2", ["RABBITMQ_URL": url(amqp, "rabbitmq.url", servers.rabbitmq.port, "%2F")]),
      ("gateway-3", ["RABBITMQ_URL": url(amqp, "rabbitmq.url", 1, "%2F")]),
      ("gateway-4", ["REDIS_URL": url(redis, "redis.url", servers.redis.address.port, "0")]),
      ("gateway-5", ["REDIS_URL": url(redis, "redis.url", 1, "0")]),
      ("gateway-6", ["LEDGER_URL": url("postgresql", "ledger.url", servers.postgres, ledger)]),
      ("gateway-7", ["LEDGER_URL": url("postgresql", "ledger.url", 1, ledger)]),
      (
        "notifier-2",
        [
          "RABBITMQ_URL": "\(amqp)://canary@127.0.0.1:\(servers.rabbitmq.port)/%2F",
          "RABBITMQ_PASSWORD_FILE": "rabbitmq.passwordFile.txt",
          "REDIS_URL": "\(redis)://canary@127.0.0.1:\(servers.redis.address.port)/0",
          "REDIS_PASSWORD_FILE": "redis.passwordFile.txt",
          "LEDGER_URL": "postgresql://canary@127.0.0.1:\(servers.postgres)/\(ledger)",
          "LEDGER_PASSWORD_FILE": "ledger.passwordFile.txt",
        ]
      ),
      (
        "notifier-4",
        [
          "REDIS_URL": "\(redis)+sentinel://canary@127.0.0.1:\(servers.redis.address.port)/mymaster/0",
          "REDIS_PASSWORD_FILE": "redis.passwordFile.txt",
          "REDIS_SENTINEL_PASSWORD_FILE": "redis.sentinelPasswordFile.txt",
        ]
      ),
      (
        "notifier-3",
        [
          "RABBITMQ_URL": "amqps://127.0.0.1:\(servers.rabbitmq.port)/%2F", "RABBITMQ_CERTIFICATE_FILE": "tls.pem",
          "RABBITMQ_PRIVATE_KEY_FILE": "tls.key", "REDIS_URL": "rediss://127.0.0.1:\(servers.redis.address.port)/0",
          "REDIS_CERTIFICATE_FILE": "tls.pem", "REDIS_PRIVATE_KEY_FILE": "tls.key",
        ]
      ),
    ]
    for (role, variables) in wrong { try start(role, variables) }
    for (role, _) in wrong {
      try await eventually("\(role) tells its failure") { fleet.log(role).contains("\"event\":\"cannot connect\"") }
    }
    try await caught.readRoles(wrong.map(\.role))
    for (role, _) in wrong { await fleet.kill(role) }
    // Nobody is at Apple's address.
    await fleet.kill("worker-1")
    try start(
      "worker-1", ["APP_STORE_PRODUCTION_URL": "https://127.0.0.1:1", "APP_STORE_SANDBOX_URL": "https://127.0.0.1:1"])
    try await fleet.ready("worker-1")
    #expect(try await fleet.register("1000000000077", id: "no-apple").status == 202)
    _ = try await fleet.finished(["no-apple"])
    // A simulator that posts old notifications.
    try start(
      "simulator-1",
      [
        "SIMULATOR_LISTEN": "127.0.0.1:0", "SIMULATOR_FOLDER": "simulator-of-canaries",
        "SIMULATOR_NOTIFICATIONS_URLS": fleet.url("/apple/notifications"), "SIMULATOR_NOTIFICATIONS_VERSION": "1",
        "SIMULATOR_NOTIFICATIONS_PASSWORD_FILE": "simulator.notifications.passwordFile.txt",
      ])
    try await eventually("the simulator listens") { fleet.log("simulator-1").contains("listening") }
    await fleet.kill("simulator-1")
  }

  private func start(_ role: String, _ variables: [String: String]) throws {
    try fleet.start(role, with: Dictionary(uniqueKeysWithValues: variables.map { ("COUNTERSIGN_" + $0.key, $0.value) }))
  }

  /// Runs `check-config` with every mistake that people make with secrets.
  private func checkConfigurations() async throws {
    var cases: [[String: String]] = [
      ["PUBLISHERS_FOLDER": "broken"], ["LEDGER_KEYS_FILE": "broken-keys.json"],
      ["LEDGER_KEYS_FILE": Base64.encode(plan.planted["ledger.keysFile"]!.bytes)],
      [
        "RABBITMQ_URL": "amqps://127.0.0.1/%2F", "RABBITMQ_CERTIFICATE_FILE": "tls.pem",
        "RABBITMQ_PRIVATE_KEY_FILE": "broken-tls.key",
      ],
      [
        "REDIS_URL": "rediss://127.0.0.1/0", "REDIS_CERTIFICATE_FILE": "tls.pem",
        "REDIS_PRIVATE_KEY_FILE": "broken-tls.key",
      ],
      ["SIMULATOR_NOTIFICATIONS_PASSWORD_FILE": plan.text("simulator.notifications.passwordFile")],
      [
        "CONSOLE_OPEN_ID_ISSUER": "https://id.example.com", "CONSOLE_OPEN_ID_CLIENT_ID": "console",
        "CONSOLE_OPEN_ID_CLIENT_SECRET_FILE": plan.text("console.openId.clientSecretFile"),
      ],
    ]
    for (variable, name) in [
      ("RABBITMQ_URL", "rabbitmq.url"), ("REDIS_URL", "redis.url"), ("LEDGER_URL", "ledger.url"),
      ("APP_STORE_PRODUCTION_URL", "appStore.productionURL"), ("APP_STORE_SANDBOX_URL", "appStore.sandboxURL"),
    ] {
      // A percent sign without its digits, another scheme, no host, and the password alone.
      for form in [
        "https://u:\(PercentCoding.encoded(plan.text(name)))@127.0.0.1:1/a", "amqp://u:%zz\(plan.text(name))@h/",
        "ftp://u:\(plan.text(name))@h/",
        "//\(plan.text(name))",
      ] {
        cases.append([variable: form])
      }
    }
    for name in ["rabbitmq", "redis", "ledger"] {
      cases.append([name.uppercased() + "_PASSWORD_FILE": plan.text("\(name).passwordFile")])
    }
    // Each takes a moment to start, so a few run side by side.
    var left = Array(cases.enumerated())[...]
    let runners = (0..<3).map { _ in
      Task { @LoopActor in
        while let (number, variables) = left.popFirst() { try await checkConfiguration(number, with: variables) }
      }
    }
    for runner in runners { try await runner.value }
  }

  private func checkConfiguration(_ number: Int, with variables: [String: String]) async throws {
    let log = "\(fleet.folder)/check-\(number).log"
    var environment = plan.environment
    for (name, value) in variables { environment["COUNTERSIGN_" + name] = value }
    let process = try ChildProcess(
      Repository.products + "/countersign", ["check-config", "--config", fleet.folder + "/countersign.json"],
      environment: environment, output: log)
    let status = try await process.ended()
    #expect(status == 2, "\(variables.keys)")
  }

  /// Encrypts anew with the file of keys, and fails without it.
  private func rekey() async throws {
    for (number, file) in ["canary-keys.json", "keys.json"].enumerated() {
      let process = try ChildProcess(
        Repository.products + "/countersign", ["rekey", "--config", fleet.folder + "/countersign.json"],
        environment: ["COUNTERSIGN_LEDGER_KEYS_FILE": file], output: "\(fleet.folder)/rekey-\(number).log")
      let status = try await process.ended()
      #expect(status == Int32(number))
    }
  }
}
