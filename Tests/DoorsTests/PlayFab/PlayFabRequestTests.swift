import Crypto
import Domain
import EventLoop
import HTTPServer
import Testing

@testable import Doors
@testable import Gateway

/// What PlayFab's door takes, and the error for each mistake.
struct PlayFabRequestTests {
  private func request(
    _ body: String, _ headers: [(name: String, value: String)] = [("Content-Type", "application/json")]
  ) -> HTTPServerRequest {
    HTTPServerRequest(
      method: "POST", path: ["Client", "ValidateIOSReceipt"], headers: headers, body: Array(body.utf8))
  }

  private func error<Value>(_ body: () throws(PlayFabError) -> Value) -> PlayFabError? {
    do {
      _ = try body()
      return nil
    } catch {
      return error
    }
  }

  private func restore(_ body: String) throws(PlayFabError) -> PlayFabRestoreRequest {
    try PlayFabRestoreRequest(request(body))
  }

  private func validate(_ body: String) throws(PlayFabError) -> PlayFabValidateRequest {
    try PlayFabValidateRequest(request(body))
  }

  // MARK: Good

  @Test func restoring() throws {
    let least = try restore(#"{"ReceiptData": "abc"}"#)
    #expect(least.receiptData == "abc" && least.catalogVersion == nil)
    let all = try restore(
      #"{"ReceiptData": "abc", "CatalogVersion": "5", "CustomTags": {"build": "7"}, "Unheard": [1]}"#)
    #expect(all.catalogVersion == "5")
    // Some clients send a null or an empty text for what they do not have.
    #expect(try restore(#"{"ReceiptData": "abc", "CatalogVersion": null, "CustomTags": null}"#) == least)
    #expect(try restore(#"{"ReceiptData": "abc", "CatalogVersion": ""}"#) == least)
  }

  @Test func validating() throws {
    let receipt = try validate(#"{"ReceiptData": "abc", "PurchasePrice": 999, "CurrencyCode": "EUR"}"#)
    #expect(receipt.evidence == .receipt("abc"))
    #expect(receipt.purchasePrice == 999 && receipt.currencyCode == "EUR" && receipt.catalogVersion == nil)
    let signed = try validate(#"{"JwsReceiptData": "e.y.J", "ReceiptData": "", "PurchasePrice": 0}"#)
    #expect(signed.evidence == .signedTransaction("e.y.J"))
    #expect(signed.purchasePrice == 0 && signed.currencyCode == nil)
  }

  @Test(arguments: ["application/json", "application/json; charset=utf-8", "Application/JSON"])
  func contentTypes(type: String) throws {
    let request = request(#"{"ReceiptData": "abc"}"#, [("content-type", type), ("Content-Encoding", "identity")])
    #expect(try PlayFabRestoreRequest(request).receiptData == "abc")
  }

  // MARK: Mistakes

  @Test(arguments: [
    (#"{}"#, "ReceiptData"), (#"{"ReceiptData": ""}"#, "ReceiptData"), (#"{"ReceiptData": 7}"#, "ReceiptData"),
    (#"{"ReceiptData": null}"#, "ReceiptData"), (#"{"ReceiptData": "a", "CatalogVersion": 5}"#, "CatalogVersion"),
    (#"{"ReceiptData": "a", "CustomTags": []}"#, "CustomTags"),
    (#"{"ReceiptData": "a", "CustomTags": {"a": 1}}"#, "CustomTags"),
  ])
  func wrongRestore(body: String, member: String) {
    let error = error { () throws(PlayFabError) in try restore(body) }
    #expect(error?.number == 1000 && error?.code == 400)
    #expect(error?.details.map(\.member) == [member])
  }

  @Test(arguments: [
    (#"{"PurchasePrice": 1}"#, "ReceiptData"), (#"{"ReceiptData": "a"}"#, "PurchasePrice"),
    (#"{"ReceiptData": "a", "JwsReceiptData": "b", "PurchasePrice": 1}"#, "JwsReceiptData"),
    (#"{"ReceiptData": "a", "PurchasePrice": null}"#, "PurchasePrice"),
    (#"{"ReceiptData": "a", "PurchasePrice": "1"}"#, "PurchasePrice"),
    (#"{"ReceiptData": "a", "PurchasePrice": 1.5}"#, "PurchasePrice"),
    (#"{"ReceiptData": "a", "PurchasePrice": -1}"#, "PurchasePrice"),
    (#"{"ReceiptData": "a", "PurchasePrice": 2147483648}"#, "PurchasePrice"),
    (#"{"ReceiptData": "a", "PurchasePrice": 1, "CurrencyCode": 840}"#, "CurrencyCode"),
    (#"{"JwsReceiptData": {}, "PurchasePrice": 1}"#, "JwsReceiptData"),
  ])
  func wrongValidate(body: String, member: String) {
    let error = error { () throws(PlayFabError) in try validate(body) }
    #expect(error?.number == 1000)
    #expect(error?.details.map(\.member) == [member])
  }

  @Test(arguments: ["", "{", "hello", "[]", "\"abc\"", #"{"ReceiptData": "a", "ReceiptData": "b"}"#])
  func noJSON(body: String) {
    let error = error { () throws(PlayFabError) in try restore(body) }
    #expect(error?.name == "InvalidJSONContent" && error?.number == 1200 && error?.code == 400)
  }

  @Test func otherContent() {
    let body = #"{"ReceiptData": "abc"}"#
    for headers in [
      [("Content-Type", "text/plain")], [], [("Content-Type", "application/json"), ("Content-Encoding", "gzip")],
    ] {
      let error = error { () throws(PlayFabError) in try PlayFabRestoreRequest(request(body, headers)) }
      #expect(error?.name == "InvalidContentType" && error?.number == 1144)
    }
  }
}

/// The session ticket, which is a customer's token.
struct PlayFabAuthenticationTests {
  private static let now: Int64 = 1_700_000_000
  private static let secret = Array("0123456789abcdef0123456789abcdef".utf8)

  private static let key = try? P256PrivateKey.generate()

  private static func publisher(_ id: PublisherId, _ doors: OpenDoors, hasApp: Bool = true) -> Publisher {
    let app = key.map {
      Publisher.App(
        bundleId: "com.a", appAppleId: 5, issuerId: "i", keyId: "k", privateKey: $0, environments: ["Production"])
    }
    return Publisher(
      id: id, customers: .open, tokenHashes: [],
      customerTokens: Publisher.CustomerTokenPolicy(key: .hs256(secret), customerClaim: "customerId"),
      apps: hasApp ? [app].compactMap(\.self) : [],
      offers: OfferCatalog([]), doors: doors, webhooks: [])
  }

  private static func ticket(_ publisher: PublisherId, _ customer: String = "42", exp: Int64 = now + 60) -> String {
    let signed =
      Base64URL.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8)) + "."
      + Base64URL.encode(Array(#"{"publisherId":\#(publisher),"customerId":"\#(customer)","exp":\#(exp)}"#.utf8))
    return signed + "." + Base64URL.encode(HMACSHA256.authenticate(Array(signed.utf8), key: secret))
  }

  private let publishers = Publishers([
    publisher(7, OpenDoors(playfab: PlayFabDoor())),
    publisher(8, OpenDoors(playfab: PlayFabDoor(policy: DoorPolicy(customerPrefix: "pf-")))),
    publisher(9, OpenDoors(cleeng: CleengDoor())), publisher(10, OpenDoors(playfab: PlayFabDoor()), hasApp: false),
  ])

  private func caller(_ ticket: String?, header: String = "X-Authorization") -> Result<PlayFabCaller, PlayFabError> {
    let request = HTTPServerRequest(method: "POST", path: [], headers: ticket.map { [(header, $0)] } ?? [])
    return Result { () throws(PlayFabError) in
      try PlayFabCaller(request, Authenticator(publishers: publishers, now: Self.now))
    }
  }

  private func refusal(_ result: Result<PlayFabCaller, PlayFabError>) -> PlayFabError? {
    if case .failure(let error) = result { error } else { nil }
  }

  @Test func theTicketNamesTheCustomer() throws {
    let plain = try caller(Self.ticket(7)).get()
    #expect(plain.publisher.id == 7 && plain.customerId == "42")
    #expect(try caller(Self.ticket(8, "max"), header: "x-authorization").get().customerId == "max")
  }

  /// A ticket may be good, as long as nobody knows its keys.
  @Test @LoopActor func keysThatAreNotKnown() {
    let publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [],
      customerTokens: Publisher.CustomerTokenPolicy(
        keys: [], keySet: KeySetAddress(url: "https://id.example.com/keys"), customerClaim: "customerId"),
      apps: [], offers: OfferCatalog([]), doors: OpenDoors(cleeng: CleengDoor(), playfab: PlayFabDoor()), webhooks: [])
    let authenticator = Authenticator(publishers: Publishers([publisher]), now: Self.now)
    func refusal(_ door: Door, _ path: [String], _ header: (name: String, value: String)) -> HTTPServerResponse? {
      var pace = DoorPace()
      return door.admission(of: HTTPServerRequest(method: "POST", path: path, headers: [header]), by: authenticator)?
        .refusal(&pace, now: .zero)
    }
    for answer in [
      refusal(.playfab, ["Client", "RestoreIOSPurchases"], ("X-Authorization", Self.ticket(7))),
      refusal(.cleeng, ["apple", "payment"], ("Authorization", "Bearer \(Self.ticket(7))")),
    ] {
      #expect(answer?.status == 503 && answer?.headers.contains { $0.name == "Retry-After" } == true)
      let text = String(decoding: answer?.body ?? [], as: UTF8.self)
      #expect(text.contains("customerTokens.jwks"))
    }
  }

  /// The server asks before it keeps a large body.
  @Test @LoopActor func heads() {
    func status(_ headers: [(name: String, value: String)], _ method: String = "POST") -> Int? {
      let head = HTTPServerRequest(method: method, path: ["Client", "RestoreIOSPurchases"], headers: headers)
      var pace = DoorPace()
      return Door.playfab.admission(of: head, by: Authenticator(publishers: publishers, now: Self.now))?
        .refusal(&pace, now: .zero)?.status
    }
    #expect(status([("X-Authorization", Self.ticket(7))]) == nil)
    let ticket = HTTPServerRequest(method: "POST", path: [], headers: [("X-Authorization", Self.ticket(7))])
    let admission = Door.playfab.admission(of: ticket, by: Authenticator(publishers: publishers, now: Self.now))
    #expect(admission?.sender == HTTPServer.LargeBody.Sender(publisher: "7", credential: .app))
    #expect(status([]) == 401 && status([("X-Authorization", "ticket")]) == 401)
    #expect(status([("X-ReportErrorAsSuccess", "True")]) == 200)
    #expect(status([("X-Authorization", Self.ticket(9))]) == 400)
    #expect(status([], "GET") == nil, "the method has its own answer")
  }

  @Test func refusals() {
    #expect(refusal(caller(nil)) == .notAuthenticated)
    #expect(refusal(caller("")) == .notAuthenticated)
    #expect(refusal(caller(Self.ticket(7), header: "Authorization")) == .notAuthenticated)
    #expect(refusal(caller(Self.ticket(9))) == .closed)
    // A publisher without apps is refused with the receipt.
    #expect(refusal(caller(Self.ticket(10))) == nil)
    for wrong in [
      "ticket", Self.ticket(7) + "x", Self.ticket(6), Self.ticket(7, exp: Self.now - 60), Self.ticket(7, ""),
    ] {
      let error = refusal(caller(wrong))
      #expect(error?.name == "InvalidSessionTicket" && error?.number == 1100 && error?.code == 401)
    }
  }
}
