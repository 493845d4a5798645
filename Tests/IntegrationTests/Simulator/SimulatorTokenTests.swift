import Crypto
import EventLoop
import Formats
import HTTP
import HTTPClient
import Simulator
import Testing

/// The simulator checks the bearer token as strictly as Apple does.
struct SimulatorTokenTests {
  @Test @LoopActor
  func acceptsGoodToken() async throws {
    try await RunningSimulator.with { simulator async throws in
      let answer = try await simulator.transaction("100000000000001")
      #expect(answer.status == 200)
    }
  }

  @Test @LoopActor
  func answersForTheAppOfTheToken() async throws {
    try await RunningSimulator.with { simulator async throws in
      let app = RunningSimulator.otherApp
      let pem = String(decoding: try bytes("\(simulator.folder)/AuthKey_\(app.keyId).p8"), as: UTF8.self)
      var token = Token(issuer: app.issuerId, bundleId: app.bundleId)
      token.header = "{\"alg\":\"ES256\",\"kid\":\"\(app.keyId)\",\"typ\":\"JWT\"}"
      let answer = try await simulator.call(
        "v1/subscriptions/100000000000001", token: token.signed(with: P256PrivateKey(pem: pem)))
      let body = try answer.decoded(as: SubscriptionsBody.self)
      #expect(body.bundleId == app.bundleId.text)
      #expect(body.appAppleId == app.appAppleId)
    }
  }

  @Test @LoopActor
  func refusesBadTokens() async throws {
    try await RunningSimulator.with { simulator async throws in
      let kid = RunningSimulator.app.keyId
      let now = Token().issuedAt
      let bad: [(reason: String, token: Token)] = [
        ("wrongIssuer", Token(issuer: "somebody")),
        ("wrongAudience", Token(audience: "appstoreconnect-v2")),
        ("unknownApp", Token(bundleId: "com.example.unknown")),
        ("unknownApp", Token(bundleId: RunningSimulator.otherApp.bundleId)),
        ("livesTooLong", Token(lifetime: 3601)),
        ("expired", Token(issuedAt: now - 600)),
        ("issuedInFuture", Token(issuedAt: now + 3600)),
        ("unknownKey", Token(header: "{\"alg\":\"ES256\",\"kid\":\"AAAAAAAAAA\",\"typ\":\"JWT\"}")),
        (
          "wrongSignature",
          Token(header: "{\"alg\":\"ES256\",\"kid\":\"\(RunningSimulator.otherApp.keyId)\",\"typ\":\"JWT\"}")
        ),
        ("malformed", Token(header: "{\"alg\":\"HS256\",\"kid\":\"\(kid)\",\"typ\":\"JWT\"}")),
        ("malformed", Token(header: "{\"alg\":\"none\",\"kid\":\"\(kid)\",\"typ\":\"JWT\"}")),
        ("malformed", Token(header: "{\"alg\":\"ES256\",\"kid\":\"\(kid)\"}")),
      ]
      for (reason, token) in bad {
        try await simulator.expectRefusal(reason, token: token.signed(with: simulator.key))
      }
      try await simulator.expectRefusal("wrongSignature", token: Token().signed(with: .generate()))
      try await simulator.expectRefusal("malformed", token: "rubbish")
      try await simulator.expectRefusal("malformed", token: Token().signed(with: simulator.key) + "=")
    }
  }
}

extension RunningSimulator {
  /// Expects 401 without JSON, for the given reason.
  fileprivate func expectRefusal(_ reason: String, token: String) async throws {
    let answer = try await call("v1/transactions/100000000000001", token: token)
    #expect(answer.status == 401)
    #expect(answer.header("content-type") != "application/json")
    let log = try await client.send(HTTPClientRequest("GET", url("/simulator/calls"))).decoded(as: CallsBody.self)
    #expect(log.calls.last?.status == 401)
    #expect(log.calls.last?.refusal == reason)
  }
}
