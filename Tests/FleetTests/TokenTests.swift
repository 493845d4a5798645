import Crypto
import Domain
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import Glibc
import HTTP
import HTTPServer
import ServerSupport
import Simulator
import TestSupport
import Testing

/// Publishers' tokens with names and scopes, and customers' tokens with keys of an identity provider.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct TokenTests {
  private nonisolated static let publisher: PublisherId = 1009
  private nonisolated static let scopes = [
    "register", "read", "endpoints", "admin", "grants", "sandbox-access", "export", "import",
  ]

  /// A token for each scope, named like it; and the doors, the app and the offers of the fleet.
  private static func writeTokens(_ fleet: RunningFleet) throws {
    let tokens = scopes.map { scope in
      let hash = Hex.encode(SHA256.hash(Array("\(scope)-token".utf8)))
      return #"{"name": "may-\#(scope)", "tokenHash": "\#(hash)", "scopes": ["\#(scope)"]}"#
    }
    try fleet.writePublisher(
      publisher,
      """
      "tokens": [\(tokens.joined(separator: ", "))], "customers": "open", "apps": [\(RunningFleet.app)],
      "offers": \(RunningFleet.offers), "doors": {"cleeng": {"enabled": true}},
      "customerTokens": {"algorithm": "HS256", "secretFile": "../jwt.secret"}
      """)
  }

  private func send(
    _ fleet: RunningFleet, _ method: String, _ path: String, as token: String, _ body: String? = nil
  ) async throws -> HTTPClientResponse {
    var headers = [(name: "X-Publisher-Token", value: token)]
    if body != nil { headers.append(("Content-Type", "application/json")) }
    return try await fleet.send(method, fleet.url(path), headers, body)
  }

  @Test func `a token with scopes opens its routes, and is named`() async throws {
    let scenes = [
      // It lists all that was done.
      Scene("the audit log names the token of each change", namesTokens),
      Scene("Cleeng's JSON-RPC asks for the scope of a read", asksForRead),
      Scene("a token opens the routes of its scopes only, also at Cleeng's door", keepsToScopes),
    ]
    try await RunningFleet.with(["gateway-1", "worker-1"], prepare: Self.writeTokens) { fleet in
      for scene in scenes { await scene.run(fleet) }
    }
  }

  private func keepsToScopes(_ fleet: RunningFleet) async throws {
    let entitlement = "/3.1/entitlements/customer_id/5/offer_id/S1"
    let calls: [(scope: String, method: String, path: String, body: String?)] = [
      ("register", "POST", "/storekit2/purchases", "{}"), ("register", "PUT", "/customers/5", "{}"),
      ("register", "POST", "/storekit2/purchases/transfers", "{}"), ("register", "POST", "/apple/payment", "{}"),
      ("read", "GET", "/customers/5", nil), ("read", "GET", "/customers/5/entitlements", nil),
      ("read", "GET", "/purchases/100", nil), ("read", "GET", "/refund-requests", nil),
      ("read", "GET", "/storekit2/purchases/synchronizations/none", nil), ("read", "GET", entitlement, nil),
      ("read", "HEAD", "/customers/5", nil), ("endpoints", "GET", "/3.1/webhook_endpoints", nil),
      ("endpoints", "POST", "/3.1/webhook_endpoints", "{}"), ("admin", "GET", "/audit", nil),
      ("read", "GET", "/events", nil), ("export", "GET", "/export", nil), ("export", "HEAD", "/export", nil),
      ("import", "GET", "/imports", nil), ("import", "POST", "/imports", "{}"),
      ("import", "POST", "/imports/imp_0/file?offset=0", "{}"), ("import", "POST", "/imports/imp_0/start", nil),
      ("import", "GET", "/imports/imp_0/report", nil), ("import", "DELETE", "/imports/imp_0", nil),
      ("admin", "PUT", "/customers/5/consent", "{}"), ("admin", "GET", "/customers/6/export", nil),
      ("admin", "POST", "/purchases/100/release", nil), ("admin", "DELETE", "/customers/6", nil),
      ("grants", "POST", "/customers/5/grants", "{}"), ("read", "GET", "/customers/5/grants", nil),
      ("grants", "POST", "/customers/5/grants/0b0c1d9e-52f0-4c4e-9f53-0a9c2d7f1e10/withdraw", nil),
      ("sandbox-access", "PUT", "/customers/5/sandbox-access", "{}"),
      ("sandbox-access", "DELETE", "/customers/5/sandbox-access", nil),
      ("read", "GET", "/customers/5/sandbox-access", nil),
    ]
    for call in calls {
      for scope in Self.scopes {
        let answer = try await send(fleet, call.method, call.path, as: "\(scope)-token", call.body)
        let place = "\(call.method) \(call.path) as \(scope): \(answer.status)"
        guard scope != call.scope else {
          #expect(answer.status != 403 && answer.status != 401, "\(place)")
          continue
        }
        #expect(answer.status == 403, "\(place)")
        #expect(
          answer.header("www-authenticate")?.hasSuffix(#"error="insufficient_scope", scope="\#(call.scope)""#) == true
        )
        guard call.method != "HEAD" else { continue }
        let body = String(decoding: answer.body, as: UTF8.self)
        #expect(body.contains(#""code":"AUTH0004""#) && body.contains("lacks the scope \(call.scope)"), "\(body)")
        #expect(body.contains(#"\"may-\#(scope)\""#) && !body.contains("-token"), "\(body)")
      }
      // A token of tokenHashes has every scope.
      let answer = try await send(fleet, call.method, call.path, as: "token-\(Self.publisher)", call.body)
      #expect(answer.status != 403, "\(call.path)")
    }
  }

  private func asksForRead(_ fleet: RunningFleet) async throws {
    let customer = jwt(customer: 5, publisher: Self.publisher)
    for scope in Self.scopes {
      let tokens = #"{"publisherToken": "\#(scope)-token", "customerToken": "\#(customer)"}"#
      let call = #"{"method": "getAccessibleTags", "params": \#(tokens), "jsonrpc": "2.0", "id": 1}"#
      let headers = [(name: "Content-Type", value: "application/json")]
      let answer = try await fleet.send("POST", fleet.url("/3.1/json-rpc"), headers, call)
      let body = String(decoding: answer.body, as: UTF8.self)
      #expect(answer.status == 200 && body.contains(#""code":5"#) == (scope != "read"), "\(scope): \(body)")
      #expect(body.contains(#""tags":[]"#) == (scope == "read"), "\(scope): \(body)")
    }
  }

  private func namesTokens(_ fleet: RunningFleet) async throws {
    #expect(
      try await send(fleet, "PUT", "/customers/5", as: "register-token", #"{"email": "a@example.com"}"#).status == 201
    )
    let purchase = #"{"customerId": "5", "transactionId": "1000000000077"}"#
    let headers = [
      (name: "X-Publisher-Token", value: "register-token"), (name: "Content-Type", value: "application/json"),
      (name: "Correlation-Id", value: "first"),
    ]
    #expect(try await fleet.send("POST", fleet.url("/storekit2/purchases"), headers, purchase).status == 202)
    _ = try await fleet.finished(["first"])
    let endpoint = #"{"url": "http://127.0.0.1:9/x", "topics": ["purchaseUpdated"]}"#
    #expect(
      try await send(fleet, "POST", "/3.1/webhook_endpoints", as: "endpoints-token", endpoint).status == 201)
    let release = "/purchases/1000000000077/release"
    #expect(try await send(fleet, "POST", release, as: "admin-token").status == 200)
    let consent = #"{"consented": true, "textVersion": "1", "time": "2026-01-15T10:29:00Z"}"#
    #expect(try await send(fleet, "PUT", "/customers/5/consent", as: "admin-token", consent).status == 200)
    // A token without a name has one all the same.
    let unnamed = "token-\(Self.publisher)"
    #expect(try await send(fleet, "PUT", "/customers/6", as: unnamed, "{}").status == 201)
    let derived = "token-" + Hex.encode(SHA256.hash(Array(unnamed.utf8))[..<4])

    let answer = try await send(fleet, "GET", "/audit", as: "admin-token")
    let page = try JSONDecoder().decode(Page.self, from: Data(answer.body))
    #expect(
      page.entries.reversed().map { "\($0.actor) \($0.token ?? "none") \($0.action)" } == [
        "publisher may-register customer.put", "publisher may-register purchase.registered",
        "publisher may-endpoints endpoint.created", "publisher may-admin purchase.released",
        "publisher may-admin customer.consented", "publisher \(derived) customer.put",
      ])
    let export = try await send(fleet, "GET", "/customers/5/export", as: "admin-token")
    #expect(String(decoding: export.body, as: UTF8.self).contains(#""token":"may-register""#))
  }

  private struct Page: Decodable {
    let entries: [Entry]

    struct Entry: Decodable {
      let action: String
      let actor: String
      let token: String?
    }
  }

  // MARK: Customers' tokens

  private nonisolated static let rules = #""issuer": "https://id.example.com/", "audience": ["app"]"#

  /// Writes a publisher whose keys a provider has.
  ///
  /// - Parameter set: further members of `jwks`.
  private static func writeKeys(
    _ fleet: RunningFleet, _ id: PublisherId, _ url: String, _ set: String = ""
  ) throws {
    try fleet.writePublisher(
      id,
      """
      "customers": "open", "apps": [\(RunningFleet.app)], "offers": \(RunningFleet.offers),
      "customerTokens": {"customerClaim": "sub", "jwks": {"url": "\(url)"\(set)}, \(rules)}
      """)
  }

  /// Asks for the entitlements of a token's customer.
  private func ask(_ fleet: RunningFleet, _ token: String) async throws -> HTTPClientResponse {
    let headers = [(name: "Authorization", value: "Bearer \(token)")]
    return try await fleet.send("GET", fleet.url("/customers/auth0%7Calice/entitlements"), headers, nil)
  }

  private func claims(_ more: String = "", issuer: String = "https://id.example.com/", audience: String = "app")
    -> String
  {
    let (now, name) = (unixMilliseconds() / 1000, "auth0|alice")
    return
      #"{"iss":"\#(issuer)","aud":["other","\#(audience)"],"sub":"\#(name)","iat":\#(now),"exp":\#(now + 600)\#(more)}"#
  }

  @Test func `tokens of an identity provider, whose keys rotate`() async throws {
    let (one, two) = (try P256PrivateKey.generate(), try P256PrivateKey.generate())
    try await IdentityProvider.with { provider async throws in
      provider.publish([("a", one.publicKey)])
      let prepare: @LoopActor (RunningFleet) throws -> Void = { try Self.writeKeys($0, 1010, provider.url) }
      try await RunningFleet.with(["gateway-1"], prepare: prepare) { fleet async throws in
        #expect(try await ask(fleet, try TestKeys.token(claims(), kid: "a", one)).status == 200)
        #expect(try await ask(fleet, try TestKeys.token(claims(#","publisherId":1010"#), kid: "a", one)).status == 200)
        for (claims, key) in [
          (claims(issuer: "https://evil.example/"), one), (claims(audience: "web"), one), (claims(), two),
          (claims(#","publisherId":1001"#), one),
        ] {
          #expect(try await ask(fleet, try TestKeys.token(claims, kid: "a", key)).status == 401, "\(claims)")
        }
        #expect(provider.requests.all.count == 1)

        provider.publish([("a", one.publicKey), ("b", two.publicKey)])
        let rotated = try TestKeys.token(claims(), kid: "b", two)
        let first = try await ask(fleet, rotated)
        #expect([200, 503].contains(first.status) && (first.status == 200 || first.header("retry-after") != nil))
        try await eventually("the new key counts") { try await ask(fleet, rotated).status == 200 }
        #expect(try await ask(fleet, try TestKeys.token(claims(), kid: "a", one)).status == 200)
        for number in 0..<50 {
          #expect(try await ask(fleet, try TestKeys.token(claims(), kid: "x\(number)", two)).status == 401)
        }
        #expect(provider.requests.all.count == 2)
        #expect(try await fleet.metric("gateway-1", "countersign_jwks_fetches_total{outcome=\"fetched\"}") == 2)
        // The provider withdraws a key, and the operator does not wait for the next fetch.
        provider.publish([("b", two.publicKey)])
        fleet.roles["gateway-1"]?.process.send(SIGHUP)
        try await eventually("the old key no longer counts") {
          try await ask(fleet, try TestKeys.token(claims(), kid: "a", one)).status == 401
        }
        #expect(try await ask(fleet, rotated).status == 200)
        // A provider that fails changes nothing.
        provider.answer = .text(500, "")
        #expect(try await ask(fleet, rotated).status == 200)
      }
    }
  }

  @Test func `before the first keys the answer is 503, for this publisher alone`() async throws {
    let key = try P256PrivateKey.generate()
    try await IdentityProvider.with { silent async throws in
      silent.answer = nil
      let prepare: @LoopActor (RunningFleet) throws -> Void = { try Self.writeKeys($0, 1010, silent.url) }
      try await RunningFleet.with(["gateway-1"], prepare: prepare) { fleet async throws in
        try await silent.requests.wait { !$0.isEmpty }
        let token = try TestKeys.token(claims(), kid: "a", key)
        let refused = try await ask(fleet, token)
        #expect(refused.status == 503 && refused.header("retry-after") != nil)
        #expect(String(decoding: refused.body, as: UTF8.self).contains("customerTokens.jwks"))
        // Other credentials do not wait.
        let own = [(name: "Authorization", value: "Bearer \(jwt(customer: 7, publisher: RunningFleet.publisher))")]
        #expect(try await fleet.send("GET", fleet.url("/customers/7/entitlements"), own, nil).status == 200)
        #expect(try await send(fleet, "GET", "/customers/x/entitlements", as: "token-1010").status == 200)
        silent.publish([("a", key.publicKey)])
        try await eventually("the keys are there") { try await ask(fleet, token).status == 200 }
      }
    }
  }

  /// The simulator stands for a provider with a certificate of its own authority. It has no keys.
  @Test func `a provider's certificate is checked, also by an authority of the publisher's file`() async throws {
    let prepare: @LoopActor (RunningFleet) throws -> Void = { fleet in
      let url = "https://127.0.0.1:\(fleet.simulator.port)/keys"
      try Self.writeKeys(fleet, 1010, url, #", "caFile": "../simulator/tls-ca.pem""#)
      try Self.writeKeys(fleet, 1011, url)
    }
    try await RunningFleet.with(["gateway-1"], prepare: prepare) { fleet async throws in
      for (outcome, id) in [("status", 1010), ("unreachable", 1011)] {
        let metric = "countersign_jwks_fetches_total{outcome=\"\(outcome)\"}"
        try await eventually("\(id): \(outcome)") { try await fleet.metric("gateway-1", metric) >= 1 }
        let lines = fleet.logged(#""event":"key set not fetched""#)
        #expect(lines.count { $0.contains(#""publisherId":\#(id)"#) && $0.contains(#""outcome":"\#(outcome)""#) } == 1)
      }
      #expect(try await fleet.metric("gateway-1", #"countersign_jwks_fetches_total{outcome="fetched"}"#) == 0)
    }
  }
}
