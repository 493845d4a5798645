import AppStore
import Crypto
import Domain
import Formats
import HTTPServer
import JSON
import Testing

@testable import Doors
@testable import Gateway

/// What iaptic's clients send, and who sends it.
struct IapticRequestTests {
  private func value(_ text: String) throws -> JSONValue { try JSONText(Array(text.utf8)).decoded() }
  private func request(_ text: String) throws -> IapticRequest { try IapticRequest(value(text)) }

  private func error(_ text: String) throws -> IapticError? {
    do {
      _ = try request(text)
      return nil
    } catch {
      return error as? IapticError
    }
  }

  @Test func `a receipt as the Cordova plugin sends it`() throws {
    let found = try request(
      """
      {"id":"com.example.app","type":"application",
       "products":[{"type":"paid subscription","id":"monthly","offers":[{"id":"$","pricingPhases":[]}]}],
       "currency":"USD","priceMicros":9990000,
       "transaction":{"type":"ios-appstore","id":"1000000123","appStoreReceipt":"TUlJ"},
       "additionalData":{"applicationUsername":"alice","obfuscatedUsername":"6384E2B2-184B-3F8A-8CDE-D5AE9FD41C4F"},
       "device":{"plugin":"cordova-plugin-purchase/13.12.0","platform":"ios","isVirtual":false}}
      """)
    #expect(found.evidence == .receipt("TUlJ") && found.user.name == "alice")
    #expect(found.user.token == "6384e2b2-184b-3f8a-8cde-d5ae9fd41c4f")
  }

  @Test func `a transaction as the Swift client sends it`() throws {
    let text = """
      {"id":"com.example.app","type":"application",
       "transaction":{"id":"monthly","type":"apple-sk2","jwsRepresentation":"a.b.c"},
       "additionalData":{"applicationUsername":""},"device":{"plugin":"iaptic-storekit2/1.0.0"}}
      """
    let found = try request(text)
    #expect(found.evidence == .signedTransaction("a.b.c") && found.user.name == nil && found.user.token == nil)
    #expect(IapticRequest.hasTextCode(try value(text)))
    #expect(!IapticRequest.hasTextCode(try value(#"{"device":{"plugin":"cordova-plugin-purchase/13"}}"#)))
    #expect(!IapticRequest.hasTextCode(try value(#"{"device":7}"#)) && !IapticRequest.hasTextCode(nil))
  }

  @Test(arguments: [
    (#"{"applicationUsername":42}"#, "42"), (#"{"applicationUsername":null}"#, nil), ("{}", nil), ("null", nil),
  ])
  func `users`(more: String, user: String?) throws {
    let transaction = #"{"type":"apple-sk2","jwsRepresentation":"x"}"#
    #expect(try request(#"{"transaction":\#(transaction),"additionalData":\#(more)}"#).user.name == user)
  }

  /// The plugin's UUID of `alice` is made of the MD5 of that name.
  @Test(arguments: [
    ("6384e2b2-184b-3bf5-8ecc-f10ca7a6563c", "6384e2b2-184b-3bf5-8ecc-f10ca7a6563c"),
    ("6384e2b2184bcbf58eccf10ca7a6563c", "6384e2b2-184b-3bf5-8ecc-f10ca7a6563c"),
    ("6384E2B2184BCBF58ECCF10CA7A6563C", "6384e2b2-184b-3bf5-8ecc-f10ca7a6563c"), ("alice", nil), ("", nil),
  ])
  func `the token behind an obfuscated name`(text: String, token: String?) throws {
    let found = try request(
      """
      {"transaction":{"type":"apple-sk2","jwsRepresentation":"x"},"additionalData":{"obfuscatedUsername":"\(text)"}}
      """)
    #expect(found.user.token?.text == token)
  }

  @Test(
    arguments: [
      ("[]", 6_778_001, "expected a JSON object"), ("{}", 6_778_001, "transaction: expected an object"),
      (#"{"transaction":"x"}"#, 6_778_001, "transaction: expected an object"),
      (#"{"id":5,"transaction":{}}"#, 6_778_001, "id: expected a text"),
      (#"{"type":5,"transaction":{}}"#, 6_778_001, "type: expected a text"),
      (#"{"transaction":{}}"#, 6_778_001, "transaction.type: is missing"),
      (#"{"transaction":{"type":1}}"#, 6_778_001, "transaction.type: expected a text"),
      (#"{"transaction":{"type":"apple-sk2","id":1}}"#, 6_778_001, "transaction.id: expected a text"),
      (
        #"{"transaction":{"type":"android-playstore"}}"#, 6_778_001,
        "transaction.type: is \"android-playstore\"; this server verifies ios-appstore and apple-sk2"
      ),
      (#"{"transaction":{"type":"ios-appstore"}}"#, 6_778_006, "transaction.appStoreReceipt: is missing"),
      (
        #"{"transaction":{"type":"ios-appstore","appStoreReceipt":""}}"#, 6_778_006,
        "transaction.appStoreReceipt: is missing"
      ),
      (#"{"transaction":{"type":"apple-sk2"}}"#, 6_778_006, "transaction.jwsRepresentation: is missing"),
      (
        #"{"transaction":{"type":"apple-sk2","jwsRepresentation":5}}"#, 6_778_001,
        "transaction.jwsRepresentation: expected a text"
      ),
      (
        #"{"transaction":{"type":"apple-sk2","jwsRepresentation":"x"},"additionalData":[]}"#, 6_778_001,
        "additionalData: expected an object"
      ),
      (
        #"{"transaction":{"type":"apple-sk2","jwsRepresentation":"x"},"additionalData":{"applicationUsername":1.5}}"#,
        6_778_001, "additionalData.applicationUsername: expected a text or a whole number"
      ),
      (
        #"{"transaction":{"type":"apple-sk2","jwsRepresentation":"x"},"additionalData":{"obfuscatedUsername":1}}"#,
        6_778_001, "additionalData.obfuscatedUsername: expected a text"
      ),
    ] as [(String, Int64, String)])
  func `what is wrong is named`(body: String, code: Int64, message: String) throws {
    let found = try #require(try error(body))
    #expect(found.code.rawValue == code && found.status == 400 && found.message == message)
  }

  @Test func `the token of a signed transaction proves the user, or contradicts it`() throws {
    func evidence(_ token: String?) -> LocalEvidence {
      var payload = TransactionPayload()
      payload.appAccountToken = token
      return LocalEvidence(
        kind: .signedTransaction(payload, piece: nil), bundleId: "", environment: "Production", createdAt: 0,
        purchases: [])
    }
    func request(_ more: String) throws -> IapticRequest {
      try self.request(#"{"transaction":{"type":"apple-sk2","jwsRepresentation":"x"},"additionalData":\#(more)}"#)
    }
    let own = "6384e2b2-184b-3bf5-8ecc-f10ca7a6563c"
    let other = "6384e2b2-184b-3bf5-8ecc-f10ca7a6563d"
    let named = try request(#"{"obfuscatedUsername":"\#(own)"}"#)
    #expect(named.user.isProven(by: evidence(own.uppercased())) && !named.user.isContradicted(by: evidence(own)))
    #expect(!named.user.isProven(by: evidence(other)) && named.user.isContradicted(by: evidence(other)))
    for nobody in [nil, "00000000-0000-0000-0000-000000000000", "no uuid"] {
      #expect(!named.user.isProven(by: evidence(nobody)) && !named.user.isContradicted(by: evidence(nobody)))
    }
    let unnamed = try request("{}")
    #expect(!unnamed.user.isProven(by: evidence(own)) && !unnamed.user.isContradicted(by: evidence(own)))
  }

  // MARK: The credential

  private func credential(
    _ authorization: String? = nil, query: [(name: String, value: String)] = []
  ) -> IapticCredential? {
    IapticCredential(
      HTTPServerRequest(
        method: "POST", path: [], query: query, headers: authorization.map { [("Authorization", $0)] } ?? []))
  }

  private func base64(_ text: String) -> String { Base64.encode(Array(text.utf8)) }

  @Test func `the credential's forms`() {
    let query = [(name: "appName", value: "app"), (name: "apiKey", value: "key")]
    #expect(credential(query: query)?.key == "key")
    #expect(credential("Basic " + base64("app:k:ey"))?.appName == "app")
    #expect(credential("Basic " + base64("app:k:ey"))?.key == "k:ey")
    #expect(credential("bearer " + base64("app:key"))?.key == "key")
    // The header counts.
    #expect(credential("Basic " + base64("other:key"), query: query)?.appName == "other")
    #expect(credential("Basic x", query: query) == nil)
    for wrong in ["Basic", "Basic " + base64("app"), "Basic " + base64(":key"), "Digest " + base64("app:key")] {
      #expect(credential(wrong) == nil, "\(wrong)")
    }
    #expect(credential() == nil && credential(query: [query[0]]) == nil)
    #expect(credential(query: [(name: "appName", value: ""), query[1]]) == nil)
  }

  @Test func `the public key validates, and only the secret key reads`() throws {
    func hash(_ text: String) -> [UInt8] { SHA256.hash(Array(text.utf8)) }
    let door = IapticDoor(appName: "app", apiKeyHashes: [hash("public")], secretKeyHashes: [hash("secret")])
    let publishers = Publishers([
      Publisher(
        id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([]),
        doors: OpenDoors(iaptic: door), webhooks: [])
    ])
    func credential(_ name: String, _ key: String) throws -> IapticCredential {
      try #require(self.credential("Basic " + base64("\(name):\(key)")))
    }
    #expect(try credential("app", "public").validator(publishers, now: 0).found?.id == 7)
    #expect(try credential("app", "secret").validator(publishers, now: 0).found?.id == 7)
    #expect(try credential("app", "secret").reader(publishers, now: 0).found?.id == 7)
    #expect(try credential("app", "public").reader(publishers, now: 0).found == nil)
    #expect(try credential("other", "public").validator(publishers, now: 0).found == nil)
    #expect(try credential("app", "wrong").validator(publishers, now: 0).found == nil)
  }

  // MARK: The list of customers

  private func customers(_ query: (name: String, value: String)...) throws -> IapticCustomersRequest {
    try IapticCustomersRequest(HTTPServerRequest(method: "GET", path: [], query: query))
  }

  @Test func `the list of customers`() throws {
    #expect(try customers() == .page(skip: 0, limit: 100))
    #expect(try customers(("skip", "20"), ("limit", "10")) == .page(skip: 20, limit: 10))
    // The official client escapes each name, and then the whole list.
    #expect(try customers(("applicationUsername", "bob%20kal,al%2Cice,jeko")) == .named(["bob kal", "al,ice", "jeko"]))
    #expect(try customers(("applicationUsername", "a"), ("limit", "5")) == .named(["a"]))
    #expect(throws: IapticReadError.self) { try customers(("applicationUsername", "a"), ("limit", "x")) }
    #expect(try customers(("applicationUsername", "100%,b")) == .named(["100%", "b"]))
    #expect(try customers(("limit", "1")).reads == 100 && customers(("skip", "100000")).reads == 200)
    #expect(try customers(("applicationUsername", "a,b,c")).reads == 3)
    for wrong: (String, String) in [
      ("limit", "0"), ("limit", "101"), ("limit", "x"), ("skip", "-1"), ("skip", "100001"),
      ("applicationUsername", ""), ("applicationUsername", ","),
      ("applicationUsername", Array(repeating: "a", count: 101).joined(separator: ",")),
    ] {
      #expect(throws: IapticReadError.self, "\(wrong)") { try customers((name: wrong.0, value: wrong.1)) }
    }
  }
}
