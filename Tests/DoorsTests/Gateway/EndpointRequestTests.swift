import Configuration
import Domain
import Formats
import HTTPServer
import JSON
import Ledger
import Testing
import Transport

@testable import Doors
@testable import Gateway

/// Request bodies that create and change endpoints.
struct EndpointRequestTests {
  private let address = WebhookAddress(allowsHTTP: false, policy: AddressPolicy())

  private func value(_ text: String) throws -> JSONValue { try JSONText(Array(text.utf8)).decoded() }

  private func created(_ body: String) throws -> WebhookEndpoint {
    try EndpointRequest.endpoint(
      value(body), id: "ep_1", address, DoorRegistry.catalog, newKey: { _ throws(Problem) in [7] })
  }

  private func detail(_ body: () throws -> Void) -> String? {
    do {
      try body()
      return nil
    } catch {
      return (error as? Problem)?.detail
    }
  }

  private static let topics = topics("")

  private static func topics(_ beginning: String) -> String {
    "topics: \(beginning)\(DoorRegistry.catalog.topicsExpectation)"
  }

  /// A refusal names the wrong topic, but not all of one that is as long as a body.
  @Test func `a long topic is repeated by its beginning only`() throws {
    let topic = String(repeating: "e\u{301}", count: 5000)
    let detail = try #require(self.detail { _ = try created(#"{"url":"https://e.com","topics":["\#(topic)"]}"#) })
    let shown = String(repeating: "e\u{301}", count: 50)
    #expect(detail == Self.topics("has \"\(shown)\", "))
  }

  @Test func `a wrong topic in a path is named, with the nearest one`() {
    let known = DoorRegistry.catalog.topics
    let topics = known.map(\.text).joined(separator: " or ")
    #expect(
      UnknownTopic("inappPurchaseSyncresults", among: known).inPath
        == "\"inappPurchaseSyncresults\" is not known; expected \(topics); did you mean inappPurchaseSyncResult?")
    #expect(UnknownTopic("x", among: known).inPath == "\"x\" is not known; expected \(topics)")
  }

  @Test func `an url is enough`() throws {
    #expect(
      try created(#"{"url":"https://example.com"}"#)
        == WebhookEndpoint(
          id: "ep_1", url: "https://example.com", topics: ["inappPurchaseSyncResult"], secrets: [.init(key: [7])]))
  }

  @Test func `every member is read`() throws {
    let endpoint = try created(
      #"{"url":"https://example.com","name":"Ünser","topics":["webhookEndpointDisabled","inappPurchaseSyncResult"],"format":"fovea","signature":"v1","#
        + #""secret":"0123456789abcdef","retryPolicy":{"scheduleSeconds":[1,2.5,604800]},"maxConcurrency":1000,"#
        + #""maxPerSecond":5,"acceptsSelfSigned":true,"environment":"Sandbox"}"#)
    #expect(
      endpoint
        == WebhookEndpoint(
          id: "ep_1", url: "https://example.com", name: "Ünser",
          topics: ["webhookEndpointDisabled", "inappPurchaseSyncResult"], format: .fovea,
          secrets: [.init(key: Array("0123456789abcdef".utf8))],
          retry: .schedule([.seconds(1), .milliseconds(2500), .seconds(604_800)]), maxConcurrency: 1000,
          maxPerSecond: 5, acceptsSelfSigned: true, environment: .sandbox))
  }

  /// A format is of use only for the events that it has a shape for.
  @Test(arguments: [
    ("cleeng", ["inappPurchaseSyncResult"]), ("fovea", ["purchases.updated"]),
    ("mbaasy", ["in_app_purchase.created", "in_app_purchase.updated"]),
  ])
  func `the format chooses the topics of an endpoint that names none`(format: String, topics: [EventTopic]) throws {
    #expect(try created(#"{"url":"https://example.com","format":"\#(format)"}"#).topics == topics)
  }

  @Test(arguments: [
    ("[]", "expected a JSON object"), ("{}", "url: is missing"),
    (
      #"{"url":"https://e.com","uri":1,"zz":2}"#,
      "uri: is not known; expected url, name, topics, environment, retryPolicy, maxConcurrency, maxPerSecond, "
        + "acceptsSelfSigned, format, signature, secret"
    ),
    (#"{"url":5}"#, "url: expected a text"), (#"{"url":null}"#, "url: expected a text"),
    (#"{"url":"ftp://e.com"}"#, "url: expected an https:// URL"),
    (#"{"url":"https://e.com","name":"a\nb"}"#, "name: expected at most 256 characters without control characters"),
    (#"{"url":"https://e.com","topics":[]}"#, Self.topics),
    (
      #"{"url":"https://e.com","topics":["inappPurchaseSyncResult","inappPurchaseSyncResult"]}"#,
      Self.topics(#"has "inappPurchaseSyncResult" twice, "#)
    ),
    (
      #"{"url":"https://e.com","topics":["inappPurchaseSyncResults"]}"#,
      Self.topics(#"has "inappPurchaseSyncResults", "#) + "; did you mean inappPurchaseSyncResult?"
    ),
    (#"{"url":"https://e.com","topics":["<b>\u0000"]}"#, Self.topics("has \"<b>\u{0}\", ")),
    (#"{"url":"https://e.com","topics":[1]}"#, Self.topics),
    (#"{"url":"https://e.com","topics":"inappPurchaseSyncResult"}"#, Self.topics),
    (#"{"url":"https://e.com","format":"xml"}"#, "format: expected one of cleeng, fovea, mbaasy"),
    (#"{"url":"https://e.com","signature":"v2"}"#, "signature: expected one of v1, v1a"),
    (
      #"{"url":"https://e.com","signature":"v1a","format":"fovea"}"#,
      "signature: must be v1 with format fovea, whose secret is shared"
    ),
    (#"{"url":"https://e.com","secret":"x"}"#, "secret: expected whsec_ and the base64 of 24 to 64 bytes"),
    (
      #"{"url":"https://e.com","format":"mbaasy","secret":"0123456789abcde"}"#,
      "secret: expected 16 to 64 visible ASCII characters"
    ),
    (
      #"{"url":"https://e.com","retryPolicy":{"scheduleSeconds":[]}}"#,
      "retryPolicy.scheduleSeconds: expected 1 to 50 numbers of seconds from 1 to 604800"
    ),
    (
      #"{"url":"https://e.com","retryPolicy":{"scheduleSeconds":[0.5]}}"#,
      "retryPolicy.scheduleSeconds: expected 1 to 50 numbers of seconds from 1 to 604800"
    ),
    (
      #"{"url":"https://e.com","retryPolicy":{"enabled":false,"scheduleSeconds":[1]}}"#,
      "retryPolicy.scheduleSeconds: makes no sense when enabled is false"
    ),
    (
      #"{"url":"https://e.com","retryPolicy":{"times":1}}"#,
      "retryPolicy.times: is not known; expected enabled, scheduleSeconds"
    ),
    (#"{"url":"https://e.com","retryPolicy":true}"#, "retryPolicy: expected an object"),
    (#"{"url":"https://e.com","maxConcurrency":0}"#, "maxConcurrency: expected a whole number from 1 to 1000"),
    (#"{"url":"https://e.com","maxConcurrency":1.5}"#, "maxConcurrency: expected a whole number from 1 to 1000"),
    (#"{"url":"https://e.com","maxPerSecond":10001}"#, "maxPerSecond: expected a whole number from 1 to 10000"),
    (#"{"url":"https://e.com","environment":"sandbox"}"#, "environment: expected one of Production, Sandbox"),
    (#"{"url":"https://e.com","acceptsSelfSigned":1}"#, "acceptsSelfSigned: expected true or false"),
    (
      #"{"url":"https://e.com","acceptsSelfSigned":true}"#,
      "acceptsSelfSigned: goes with format fovea only, whose contract says so"
    ),
  ])
  func refused(body: String, expected: String) {
    #expect(detail { _ = try created(body) } == expected)
  }

  @Test func `a secret that is refused is not repeated`() {
    let detail = detail { _ = try created(#"{"url":"https://e.com","secret":"whsec_c2VjcmV0"}"#) }
    #expect(detail?.contains("c2VjcmV0") == false)
  }

  @Test func `changes leave alone what they do not name`() throws {
    let old = WebhookEndpoint(
      id: "ep_1", url: "https://example.com", name: "n", topics: ["t"], secrets: [.init(key: [1])], retry: .never,
      maxConcurrency: 4, maxPerSecond: 9, environment: .production)
    var endpoint = old
    try EndpointRequest(changes: value("{}"), address, DoorRegistry.catalog).apply(to: &endpoint)
    #expect(endpoint == old)
    try EndpointRequest(
      changes: value(
        #"{"maxPerSecond":null,"environment":null,"retryPolicy":{},"name":"","url":"https://b.com","#
          + #""topics":["webhookEndpointDisabled"]}"#),
      address, DoorRegistry.catalog
    ).apply(to: &endpoint)
    var expected = old
    (expected.maxPerSecond, expected.retry, expected.name) = (nil, .standard, "")
    (expected.url, expected.topics, expected.environment) = ("https://b.com", ["webhookEndpointDisabled"], nil)
    #expect(endpoint == expected)
  }

  @Test func `what was chosen at the start stays`() throws {
    let changed =
      "url, name, topics, environment, retryPolicy, maxConcurrency, maxPerSecond, acceptsSelfSigned"
    for (body, expected) in [
      (
        #"{"format":"cleeng"}"#,
        "format: is chosen when an endpoint is created; create another one; what can be changed: "
      ),
      (
        #"{"signature":"v1"}"#,
        "signature: is chosen when an endpoint is created; create another one; what can be changed: "
      ),
      (#"{"secret":"x"}"#, "secret: is changed with rotate_secret; what can be changed: "),
      (#"{"uri":1}"#, "uri: is not known; expected "),
    ] {
      let found = detail { _ = try EndpointRequest(changes: value(body), address, DoorRegistry.catalog) }
      #expect(found == expected + changed)
    }
  }

  @Test func `only an endpoint of format fovea can be made to accept any certificate`() throws {
    let changes = try EndpointRequest(changes: value(#"{"acceptsSelfSigned":true}"#), address, DoorRegistry.catalog)
    for format in DoorRegistry.catalog.formats {
      var endpoint = WebhookEndpoint(id: "ep_1", url: "https://a.com", topics: ["t"], format: format, secrets: [])
      let result = Result { try changes.apply(to: &endpoint) }
      if format == .fovea {
        #expect(endpoint.acceptsSelfSigned)
      } else {
        #expect(throws: Problem.conflict("acceptsSelfSigned: goes with format fovea only, whose contract says so")) {
          try result.get()
        }
      }
    }
  }

  @Test(
    arguments: [
      ("whsec_" + String(repeating: "A", count: 32), WebhookEndpoint.Format.cleeng, nil),
      ("whsec_" + String(repeating: "A", count: 32), .mbaasy, nil), ("0123456789abcdef", .cleeng, 409),
      ("whsec_" + String(repeating: "A", count: 84), .fovea, 409), ("whsec_AAAA", .cleeng, 400),
      ("0123456789abcdef", .fovea, nil), ("ä", .fovea, 400),
    ] as [(String, WebhookEndpoint.Format, Int?)])
  func `a new secret that fits another kind of endpoint is a conflict`(
    secret: String, format: WebhookEndpoint.Format, status: Int?
  ) throws {
    let reader = try BodyReader(.object(["secret": .string(secret)]), knows: ["secret"])
    let endpoint = WebhookEndpoint(id: "ep_1", url: "https://a.com", topics: ["t"], format: format, secrets: [])
    let result = Result { () throws(Problem) in try EndpointRequest.newSecret(reader, of: endpoint) }
    switch result {
    case .success: #expect(status == nil)
    case .failure(let problem):
      #expect(problem.status == status)
      #expect(problem.detail == "secret: " + WebhookSecret.expectation(format, .v1))
    }
  }

  @Test(
    arguments: [
      (#""1969-12-31T23:59:59Z""#, 0), (#""0001-01-01T00:00:00Z""#, 0), (#""1970-01-01T00:00:01Z""#, 1000), ("5", 5),
      ("253402300799999", 253_402_300_799_999), ("253402300800000", nil), ("-1", nil), (#""yesterday""#, nil),
    ] as [(String, Int64?)])
  func `a time is taken as a text or a number, and one before 1970 means all`(text: String, expected: Int64?) throws {
    let reader = try BodyReader(value(#"{"since":\#(text)}"#), knows: ["since"])
    let time = try? reader.time("since")
    #expect(time == expected)
  }

  @Test func `a subscription keeps its address and its topic`() throws {
    let old = WebhookEndpoint(
      id: "ep_1", url: "https://a.com", topics: ["inappPurchaseSyncResult"], secrets: [.init(key: [1])],
      source: .subscription)
    for body in [#"{"url":"https://b.com"}"#, #"{"topics":["webhookEndpointDisabled"]}"#] {
      var endpoint = old
      let problem = #expect(throws: Problem.self) {
        try EndpointRequest(changes: value(body), address, DoorRegistry.catalog).apply(to: &endpoint)
      }
      #expect(problem?.status == 409)
    }
    var endpoint = old
    try EndpointRequest(
      changes: value(#"{"url":"https://a.com","topics":["inappPurchaseSyncResult"],"name":"x"}"#), address,
      DoorRegistry.catalog
    )
    .apply(to: &endpoint)
    #expect(endpoint.name == "x")
  }

  // MARK: The documented form

  private func list(_ body: String) throws -> [WebhookEndpointStore.Subscription] {
    try subscriptions(
      value(body), topic: "t", address, newId: { () throws(Problem) in "ep_1" },
      newKey: { () throws(Problem) in [7] })
  }

  @Test func `a URL that is in the list twice is a conflict`() {
    #expect(throws: Problem.conflict("[1].url: is in the list twice")) {
      try list(#"[{"url":"https://a.com"},{"url":"https://a.com"}]"#)
    }
  }

  @Test func `lengths are counted in characters, as JSON Schema does`() throws {
    let name = String(repeating: "ü", count: 256)
    #expect(try created(#"{"url":"https://e.com","name":"\#(name)"}"#).name == name)
    #expect(detail { _ = try created(#"{"url":"https://e.com","name":"\#(name)a"}"#) } != nil)
    let secret = String(repeating: "ü", count: 64)
    func put(_ secret: String) -> String {
      #"[{"url":"https://a.com","verification":{"name":"HMAC","options":{"hashAlg":"SHA256","sharedSecret":"\#(secret)"}}}]"#
    }
    #expect(try list(put(secret))[0].endpoint.secrets[0].key == Array(secret.utf8))
    #expect(detail { _ = try list(put(secret + "a")) } != nil)
  }

  @Test func `the documented form is read`() throws {
    let found = try list(
      #"[{"url":"https://a.com"},{"url":"https://b.com","verification":{"name":"HMAC","options":{"hashAlg":"SHA256","#
        + #""sharedSecret":"0123456789abcdef"}},"paymentMethodId":12,"retryPolicy":{"enabled":false}}]"#)
    #expect(found.map(\.hasOwnKey) == [false, true])
    #expect(
      found.map(\.endpoint) == [
        WebhookEndpoint(
          id: "ep_1", url: "https://a.com", topics: ["t"], secrets: [.init(key: [7])], source: .subscription),
        WebhookEndpoint(
          id: "ep_1", url: "https://b.com", topics: ["t"], secrets: [.init(key: Array("0123456789abcdef".utf8))],
          retry: .never, paymentMethodId: 12, source: .subscription),
      ])
    #expect(try list("[]").isEmpty)
  }

  @Test(arguments: [
    ("{}", "expected a JSON array of endpoints"), ("[5]", "[0]: expected an object"), ("[{}]", "[0].url: is missing"),
    (
      #"[{"url":"https://a.com","name":"x"}]"#,
      "[0].name: is not known; expected url, verification, paymentMethodId, retryPolicy"
    ),
    (#"[{"url":"https://a.com","verification":{"name":"RSA"}}]"#, "[0].verification.name: expected HMAC"),
    (#"[{"url":"https://a.com","verification":{"name":"HMAC"}}]"#, "[0].verification.options: is missing"),
    (
      #"[{"url":"https://a.com","verification":{"name":"HMAC","options":{"hashAlg":"MD5"}}}]"#,
      "[0].verification.options.hashAlg: expected SHA256"
    ),
    (
      #"[{"url":"https://a.com","verification":{"name":"HMAC","options":{"hashAlg":"SHA256","sharedSecret":"x"}}}]"#,
      "[0].verification.options.sharedSecret: expected a text of 16 to 64 characters"
    ),
    (
      #"[{"url":"https://a.com","paymentMethodId":"1"}]"#,
      "[0].paymentMethodId: expected a whole number from 0 to 9223372036854775807"
    ),
  ])
  func refusedList(body: String, expected: String) {
    #expect(detail { _ = try list(body) } == expected)
  }

  // MARK: Pages

  private func page(_ query: [(name: String, value: String)]) -> Result<PageRequest, Problem> {
    Result { () throws(Problem) in
      try PageRequest(HTTPServerRequest(method: "GET", path: [], query: query), others: ["outcome"])
    }
  }

  @Test func `pages are asked for within bounds`() throws {
    #expect(try page([]).get().limit == 50)
    #expect(try page([("limit", "250"), ("cursor", "x"), ("outcome", "failed")]).get().cursor == "x")
    for (query, expected) in [
      ([(name: "limit", value: "0")], "limit: expected a whole number from 1 to 250"),
      ([("limit", "251")], "limit: expected a whole number from 1 to 250"),
      ([("limit", "+5")], "limit: expected a whole number from 1 to 250"),
      ([("limit", "")], "limit: expected a whole number from 1 to 250"),
      ([("limit", "5"), ("limit", "6")], "limit: is there twice"),
      ([("page", "2")], "page: is not known; expected limit, cursor, outcome"),
    ] {
      #expect(page(query) == .failure(.invalidQuery(expected)))
    }
  }

  @Test func `a cursor is what an answer gave`() {
    let cursor = EndpointCursor(createdAt: 5, id: "a b")
    #expect(EndpointCursor(cursor.text) == cursor)
    #expect(cursor.text == "5-612062")
    for text in ["", "x", "5", "5-", "-61", "5-6", "5-zz", "+5-61", "1234567890123456-61", "5-61-61"] {
      #expect(EndpointCursor(text) == nil)
    }
    #expect(EndpointCursor(createdAt: 5, id: "b") < EndpointCursor(createdAt: 6, id: "a"))
    #expect(EndpointCursor(createdAt: 5, id: "a") < EndpointCursor(createdAt: 5, id: "b"))
  }
}
