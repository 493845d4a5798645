import Configuration
import Domain
import Formats
import HTTPServer
import JSON
import Ledger
import TestSupport
import Testing
import Transport

@testable import Doors
@testable import Gateway

/// A text of a request is taken at the limit that docs/reference/openapi.yaml names, and refused beyond it with a
/// sentence that names it.
///
/// That every text has a limit there is checked by ops/development/tests/test_openapi.py. That a gateway keeps every
/// one is checked by `ops/test --contract` (ops/development/limits.py).
struct RequestLimitTests {
  private let file: OpenAPIFile

  init() throws { file = try OpenAPIFile() }

  /// The `maxLength` at a path of the file, which stands on the line of the last key or below it.
  private func limit(_ path: [String]) throws -> Int {
    let line = file.value(path) ?? ""
    if let inline = line.firstMatch(of: /maxLength: (\d+)/) { return try #require(Int(inline.1)) }
    let below = try #require(file.value(path + ["maxLength"]), "\(path)")
    return try #require(Int(below))
  }

  private func body(_ path: String, _ method: String) -> [String] {
    ["paths", path, method, "requestBody", "content", "application/json", "schema", "properties"]
  }

  private func schema(_ names: String...) -> [String] { ["components", "schemas"] + names }

  private func request(
    _ body: String, headers: [(name: String, value: String)] = [], query: [(name: String, value: String)] = []
  ) -> HTTPServerRequest {
    HTTPServerRequest(
      method: "POST", path: [], query: query, headers: [("Content-Type", "application/json")] + headers,
      body: Array(body.utf8))
  }

  /// Reads a text at the limit, and one that is a character longer.
  private func check(
    _ path: [String], _ text: (Int) -> String, refusal code: String = "REQ0001",
    _ read: (String) throws(Problem) -> Void
  ) throws {
    let most = try limit(path)
    #expect(text(most).unicodeScalars.count == most, "\(path)")
    #expect(throws: Never.self, "\(path)") { try read(text(most)) }
    let problem = #expect(throws: Problem.self, "\(path)") { try read(text(most + 1)) }
    #expect(problem?.status == 400 && problem?.code == code, "\(path)")
  }

  private func letters(_ count: Int) -> String { String(repeating: "a", count: count) }
  private func digits(_ count: Int) -> String { String(repeating: "1", count: count) }

  // MARK: Our own API

  @Test func registrations() throws {
    func read(_ member: String, _ headers: [(name: String, value: String)] = []) throws(Problem) {
      _ = try RegistrationRequest(request("{\(member)}", headers: headers))
    }
    try check(schema("TransactionId"), digits) { text throws(Problem) in
      try read(#""customerId":"a","transactionId":"\#(text)""#)
    }
    try check(schema("CustomerId"), letters) { text throws(Problem) in
      try read(#""customerId":"\#(text)","transactionId":"1""#)
    }
    try check(schema("Purchase", "properties", "signedTransaction"), letters) { text throws(Problem) in
      try read(#""customerId":"a","transactionId":"1","signedTransaction":"\#(text)""#)
    }
    try check(schema("SynchronizationId"), letters, refusal: "REQ0004") { text throws(Problem) in
      try read(#""customerId":"a","transactionId":"1""#, [("Correlation-Id", text)])
    }
  }

  @Test func customers() throws {
    func email(_ count: Int) -> String { letters(count - 2) + "@b" }
    try check(body("/customers/{customerId}", "put") + ["email"], email) { text throws(Problem) in
      _ = try requestedCustomer("1", request(#"{"email":"\#(text)"}"#))
    }
    try check(schema("CustomerId"), letters, refusal: "REQ0003") { text throws(Problem) in
      _ = try requestedCustomer(text, request(""))
    }
    try check(schema("Consent", "properties", "textVersion"), letters) { text throws(Problem) in
      let body = #"{"consented":true,"textVersion":"\#(text)","time":"2026-11-23T09:00:00Z"}"#
      _ = try requestedConsent(request(body), now: 1_800_000_000_000)
    }
  }

  @Test func grants() throws {
    try check(schema("NewGrant", "properties", "note"), letters) { text throws(Problem) in
      _ = try grant(#""offerId":"S1","note":"\#(text)""#)
    }
    try check(schema("NewGrant", "properties", "offerId"), letters) { text throws(Problem) in
      _ = try grant(#""offerId":"\#(text)""#)
    }
  }

  @Test func sandboxAccess() throws {
    try check(schema("NewSandboxAccess", "properties", "note"), letters) { text throws(Problem) in
      let body = #"{"until":"2026-12-24T18:00:00Z","reason":"testing","note":"\#(text)"}"#
      _ = try requestedSandboxOverride(
        request(body), customer: CustomerKey(publisherId: 7, id: "1"), now: 1_795_341_600_000)
    }
  }

  private func grant(_ members: String) throws(Problem) -> Grant {
    let body = #"{"expiresAt":"2026-12-24T18:00:00Z","reason":"promo",\#(members)}"#
    return try requestedGrant(
      request(body), customer: CustomerKey(publisherId: 7, id: "1"),
      fresh: GrantId(random: Array(repeating: 1, count: 16)),
      now: 1_795_341_600_000)
  }

  @Test func endpoints() throws {
    let address = WebhookAddress(allowsHTTP: false, policy: AddressPolicy())
    func create(_ members: String) throws(Problem) {
      let value: JSONValue
      do { value = try JSONText(Array("{\(members)}".utf8)).decoded() } catch { throw .invalidBody("\(error)") }
      _ = try EndpointRequest.endpoint(
        value, id: "ep_1", address, DoorRegistry.catalog, newKey: { _ throws(Problem) in [7] })
    }
    func url(_ count: Int) -> String { "https://example.com/" + letters(count - 20) }
    try check(schema("WebhookURL"), url) { text throws(Problem) in
      try create(#""url":"\#(text)""#)
    }
    try check(schema("NewWebhookEndpoint", "properties", "name"), letters) { text throws(Problem) in
      try create(#""url":"https://example.com","name":"\#(text)""#)
    }
    // The base64 of 64 bytes, and a character more.
    func shared(_ count: Int) -> String { "whsec_" + String(repeating: "A", count: count - 8) + "==" }
    try check(schema("WebhookSharedSecret"), shared) { text throws(Problem) in
      try create(#""url":"https://example.com","secret":"\#(text)""#)
    }
    try check(schema("WebhookPlainSecret"), letters) { text throws(Problem) in
      try create(#""url":"https://example.com","format":"fovea","secret":"\#(text)""#)
    }
    let options = ["verification", "properties", "options", "properties", "sharedSecret"]
    try check(schema("WebhookSubscription", "properties") + options, letters) { text throws(Problem) in
      let options = #"{"hashAlg":"SHA256","sharedSecret":"\#(text)"}"#
      let element = #"{"url":"https://a.com","verification":{"name":"HMAC","options":\#(options)}}"#
      let value: JSONValue
      do { value = try JSONText(Array("[\(element)]".utf8)).decoded() } catch { throw .invalidBody("\(error)") }
      _ = try subscriptions(
        value, topic: "t", address, newId: { () throws(Problem) in "ep_1" }, newKey: { () throws(Problem) in [7] })
    }
  }

  @Test func queries() throws {
    func email(_ count: Int) -> String { letters(count - 2) + "@b" }
    #expect(try requestedEmail(request("", query: [("email", email(254))])) == email(254))
    #expect(throws: Problem.self) { try requestedEmail(request("", query: [("email", email(255))])) }
    func cursor(_ name: String) throws -> Int { try limit(["components", "parameters", name, "schema"]) }
    let id = String(repeating: "ab", count: 256)
    #expect(try cursor("EndpointCursor") == "\(digits(15))-\(id)".count)
    #expect(EndpointCursor("\(digits(15))-\(id)") != nil)
    #expect(EndpointCursor("\(digits(15))-\(id)ab") == nil)
    #expect(EndpointCursor("\(digits(16))-\(id)") == nil)
    #expect(try cursor("PurchaseCursor") == "\(letters(32))-\(digits(32))".count)
    #expect(PurchaseReader.Place(cursor: "\(letters(32))-\(digits(32))") != nil)
    #expect(PurchaseReader.Place(cursor: "\(letters(33))-\(digits(32))") == nil)
    #expect(PurchaseReader.Place(cursor: "\(letters(32))-\(digits(33))") == nil)
    #expect(try cursor("AttemptCursor") == "\(digits(15))-\(digits(19))".count)
    #expect(!DeliveryLedger.isCursor("\(digits(16))-1"))
    #expect(!DeliveryLedger.isCursor("1-\(digits(20))"))
  }

  // MARK: Doors

  @Test func `a payment of Cleeng's`() throws {
    func pay(_ members: String, receipt: String = "MIIT") throws(Problem) {
      let more = members.isEmpty ? "" : "," + members
      _ = try CleengRequest(
        request(#"{"customerEmail":"a@b","receipt":{"receiptData":"\#(receipt)"}\#(more)}"#), isByCustomer: false)
    }
    let place = body("/apple/payment", "post")
    try check(place + ["couponCode"], letters) { text throws(Problem) in
      try pay(#""offerId":"a","couponCode":"\#(text)""#)
    }
    try check(place + ["offerId"], letters) { text throws(Problem) in try pay(#""offerId":"\#(text)""#) }
    try check(place + ["receipt", "properties", "receiptData"], letters) { text throws(Problem) in
      try pay(#""offerId":"a""#, receipt: text)
    }
  }

  /// The text that came back in an event.
  @Test func `a coupon of 2.9 MB is refused`() {
    let coupon = letters(2_900_000)
    let body = #"{"customerEmail":"a@b","offerId":"a","receipt":{"receiptData":"MIIT"},"couponCode":"\#(coupon)"}"#
    #expect(throws: Problem.invalidBody("couponCode: expected at most 256 characters")) {
      try CleengRequest(request(body), isByCustomer: false)
    }
  }

  @Test func `a call of Cleeng's JSON-RPC`() {
    func call(_ id: String, _ token: String) -> CleengCall {
      let parameters = #"{"publisherToken":"a","customerToken":"\#(token)"}"#
      return CleengCall(Array(#"{"method":"getAccessibleTags","id":"\#(id)","params":\#(parameters)}"#.utf8))
    }
    #expect(call(letters(256), letters(8192)).id == letters(256))
    #expect((try? call("1", letters(8192)).tokens.get()) != nil)
    #expect(call(letters(257), "a").id == nil)
    #expect((try? call("1", letters(8193)).tokens.get()) == nil)
  }

  @Test func `a receipt or a transaction for PlayFab`() throws {
    func restored(_ members: String) -> PlayFabError? {
      do throws(PlayFabError) {
        _ = try PlayFabRestoreRequest(request("{\(members)}"))
        return nil
      } catch {
        return error
      }
    }
    func validated(_ members: String) -> PlayFabError? {
      do throws(PlayFabError) {
        _ = try PlayFabValidateRequest(request(#"{"PurchasePrice":1,\#(members)}"#))
        return nil
      } catch {
        return error
      }
    }
    let receipt = try limit(body("/Client/RestoreIOSPurchases", "post") + ["ReceiptData"])
    let signed = try limit(body("/Client/ValidateIOSReceipt", "post") + ["JwsReceiptData"])
    let version = try limit(schema("PlayFabCatalogVersion"))
    #expect(restored(#""ReceiptData":"\#(letters(receipt))""#) == nil)
    #expect(
      restored(#""ReceiptData":"\#(letters(receipt + 1))""#)
        == .invalidParams("ReceiptData", "The field has more than \(receipt) bytes."))
    #expect(validated(#""JwsReceiptData":"\#(letters(signed))""#) == nil)
    #expect(validated(#""JwsReceiptData":"\#(letters(signed + 1))""#)?.details.first?.member == "JwsReceiptData")
    for member in ["CatalogVersion", "CurrencyCode"] {
      #expect(validated(#""ReceiptData":"a","\#(member)":"\#(letters(version))""#) == nil)
      #expect(
        validated(#""ReceiptData":"a","\#(member)":"\#(letters(version + 1))""#)
          == .invalidParams(member, "The field has more than 256 characters."))
    }
    #expect(restored(#""ReceiptData":"a","CustomTags":{"a":"\#(letters(1024))"}"#) == nil)
    #expect(
      restored(#""ReceiptData":"a","CustomTags":{"a":"\#(letters(1025))"}"#)?.details.first?.member == "CustomTags")
  }

  @Test func `an upload to Mbaasy`() throws {
    func mistakes(_ members: String) -> [MbaasyError.Mistake]? {
      do throws(MbaasyError) {
        _ = try MbaasyRequest(Array("{\(members)}".utf8), DoorPolicy(customerPrefix: ""))
        return nil
      } catch {
        return error.mistakes
      }
    }
    let receipt = try limit(body("/client/itunes_connect/receipts", "post") + ["receipt"])
    #expect(mistakes(#""receipt":"\#(letters(receipt))""#) == nil)
    #expect(
      mistakes(#""receipt":"\#(letters(receipt + 1))""#)
        == [MbaasyError.Mistake(field: .receipt, text: "is longer than \(receipt) bytes")])
    #expect(mistakes(#""receipt":"a","identifier_for_vendor":"\#(letters(256))""#) == nil)
    #expect(mistakes(#""receipt":"a","identifier_for_vendor":"\#(letters(257))""#)?.count == 1)
    #expect(
      mistakes(#""receipt":"a","ip_address":"\#(digits(100_000))""#)?.first?.text == "is longer than 2048 characters")
  }

  @Test func `a validation of iaptic's`() throws {
    func refused(_ transaction: String, _ more: String = "", device: String = "{}") throws -> Bool {
      let body: JSONValue = try JSONText(
        Array(#"{"transaction":{\#(transaction)},"additionalData":{\#(more)},"device":\#(device)}"#.utf8)
      ).decoded()
      do throws(IapticError) {
        _ = try IapticRequest(body)
        return false
      } catch {
        #expect(error.code == .invalidPayload)
        return true
      }
    }
    let receipt = TextLimit.receipt.most
    let signed = TextLimit.signedTransaction.most
    #expect(try !refused(#""type":"ios-appstore","appStoreReceipt":"\#(letters(receipt))""#))
    #expect(try refused(#""type":"ios-appstore","appStoreReceipt":"\#(letters(receipt + 1))""#))
    #expect(try !refused(#""type":"apple-sk2","jwsRepresentation":"\#(letters(signed))""#))
    #expect(try refused(#""type":"apple-sk2","jwsRepresentation":"\#(letters(signed + 1))""#))
    let good = #""type":"apple-sk2","jwsRepresentation":"a""#
    for (member, place) in [("id", good + ","), ("obfuscatedUsername", "")] {
      for (count, isRefused) in [(256, false), (257, true)] {
        let text = #""\#(member)":"\#(letters(count))""#
        #expect(try refused(place.isEmpty ? good : place + text, place.isEmpty ? text : "") == isRefused)
      }
    }
    let plugin = try limit(schema("IapticValidation", "properties", "device", "properties", "plugin"))
    for (count, isRefused) in [(plugin, false), (plugin + 1, true)] {
      #expect(try refused(good, device: #"{"plugin":"\#(letters(count))"}"#) == isRefused)
    }
    for device in ["null", "7", #"{"plugin":null}"#] { #expect(try !refused(good, device: device)) }
  }
}
