import DomainSupport
import Formats
import HTTPServer
import JSON
import Ledger
import TestSupport
import Testing

@testable import Domain
@testable import Doors
@testable import Gateway
@testable import Notifier

/// Compares docs/reference/openapi.yaml with the code: paths and methods, and the members of requests and answers.
struct OpenAPITests {
  private static let routes = RouteTable(DoorRegistry.all)

  @Test func `every route is in the file, and every operation of the file is a route`() throws {
    let file = try OpenAPIFile()
    let methods = ["get", "put", "post", "patch", "delete"]
    var documented: [String: Set<String>] = [:]
    for path in file.keys("paths") {
      documented[path] = Set(file.keys("paths", path).filter(methods.contains).map { $0.uppercased() })
    }
    var served: [String: Set<String>] = [:]
    for route in Self.routes.all { served[route.path, default: []].insert(route.method.rawValue) }
    #expect(Set(documented.keys) == Set(served.keys))
    #expect(documented == served)
    #expect(documented.count > 10)
  }

  @Test func `who may call is in the file`() throws {
    let file = try OpenAPIFile()
    for route in Self.routes.all {
      let expected: String?
      switch route.access {
      case .anyone, .apple: expected = "[]"
      case .publisher(let scope, _): expected = "[{publisherToken: [\(scope.rawValue)]}]"
      case .publisherOrCustomer(let scope, _):
        expected = "[{publisherToken: [\(scope.rawValue)]}, {customerToken: []}]"
      case .door: continue  // a door has the credentials of its vendor
      }
      let security = file.value("paths", route.path, route.method.rawValue.lowercased(), "security")
      #expect(security == expected, "\(route.method.rawValue) \(route.path)")
    }
  }

  @Test func `a documented path is found as it is written, and without its prefix`() throws {
    for route in Self.routes.all {
      let path = route.path.split(separator: "/").map(String.init)
      let found = try Self.routes.find(route.method.rawValue, path)
      #expect(found.route.path == route.path)
      // Every parameter of the path has the name that the file uses, and there is no other.
      #expect(found.values.values.sorted() == path.filter { $0.first == "{" }.sorted())
      #expect(found.values.allSatisfy { $1 == "{\($0.name)}" })
      if ["3.1", "storekit2"].contains(path[0]) {
        #expect(try Self.routes.find(route.method.rawValue, Array(path.dropFirst())).route.path == route.path)
      }
    }
  }

  private func members(_ value: Any) -> Set<String> { Set(Mirror(reflecting: value).children.compactMap(\.label)) }

  /// Also what `countersign_results_total` tells with 0 from the start.
  @Test func `the results are the documented ones`() throws {
    let lines = try OpenAPIFile().lines
    let start = try #require(lines.firstIndex(of: "    Result:"))
    let section = lines[(start + 1)...].prefix { $0.hasPrefix("     ") }
    let documented = section.map { $0.drop { $0 == " " } }.filter { $0.hasPrefix("- `") }
      .map { String($0.dropFirst(3).prefix { $0 != "`" }) }
    #expect(!documented.isEmpty)
    #expect(documented.sorted() == ResultCode.known.map(\.rawValue).sorted())
  }

  @Test func `answers have the members that are documented`() throws {
    let file = try OpenAPIFile()
    func documented(_ schema: String) -> Set<String> {
      Set(file.keys("components", "schemas", schema, "properties"))
    }
    let endpoint = WebhookEndpoint(id: "a", url: "b", topics: ["t"], secrets: [])
    let health = EndpointHealth()
    #expect(members(EndpointAnswer(endpoint, health, now: 0)) == documented("WebhookEndpoint"))
    #expect(members(SubscriptionAnswer(endpoint, health)) == documented("WebhookSubscriptionAnswer"))
    #expect(members(RetryPolicyAnswer(.never)) == documented("WebhookRetryPolicy"))
    let attempt = DeliveryAttempt(eventId: "e", endpointId: "a", topic: "t", number: 1, time: 0, result: .failed)
    #expect(members(AttemptAnswer(attempt)) == documented("WebhookAttempt"))
    #expect(members(CustomerBody(Customer(id: "1"))) == documented("Customer"))
    #expect(members(ErasureAnswer(Erasure())) == documented("Erasure"))
    #expect(
      members(ErasureAnswer(Erasure()).erased)
        == Set(file.keys("components", "schemas", "Erasure", "properties", "erased", "properties")))
    let status = StatusAnswer(
      Synchronization(id: "s", publisherId: 1, customerId: "1", transactionId: "1", status: .processing))
    #expect(members(status) == documented("Synchronization"))
  }

  @Test func `bodies have the members that are documented`() throws {
    let file = try OpenAPIFile()
    #expect(
      Set(file.keys("components", "schemas", "NewWebhookEndpoint", "properties"))
        == Set(EndpointRequest.names + EndpointRequest.chosenOnce))
    #expect(
      Set(file.keys("components", "schemas", "WebhookEndpointChanges", "properties")) == Set(EndpointRequest.names))
    #expect(
      Set(file.keys("components", "schemas", "WebhookSubscription", "properties")) == Set(subscriptionMembers))
  }

  // MARK: Webhooks

  private func payload(_ format: WebhookEndpoint.Format, _ body: [UInt8]) throws -> JSONValue {
    let headers: [String: EventHeader] = ["cloudEvents_time": "2026-11-21T18:00:00.000Z"]
    let delivery = try Delivery(eventId: "evt_1", endpointId: nil, headers: headers, body: body)
    let endpoint = WebhookEndpoint(id: "e", url: "u", topics: [], format: format, secrets: [])
    return try JSONText(WebhookPayload(delivery, endpoint, keys: [Array("0123456789abcdef".utf8)]).body).decoded()
  }

  /// A purchase of iaptic's with every member.
  private var iapticPurchase: Purchase {
    var first = TestPurchases.transaction("1", expires: 30)
    first.originalPurchaseDate = TestPurchases.at(0)
    var facts = TestPurchases.transaction("2", bought: 30, expires: 60)
    (facts.originalPurchaseDate, facts.quantity, facts.price) = (TestPurchases.at(0), 1, 9990)
    (facts.currency, facts.offerIdentifier) = ("USD", "SUMMER")
    var renewal = TestPurchases.renewal(willRenew: false, signed: 31)
    renewal.priceIncreaseStatus = 1
    return TestPurchases.purchase(first, facts, renewal: renewal, owner: "alice")
  }

  /// The names of the members at a path.
  private func names(_ value: JSONValue, _ path: String...) -> Set<String>? {
    var value = value
    for name in path {
      guard case .object(let members) = value, let member = members[name] else { return nil }
      value = member
    }
    if case .object(let members) = value { return Set(members.keys.map(\.text)) } else { return nil }
  }

  @Test func `webhooks in the shapes of others have the members that are documented`() throws {
    let file = try OpenAPIFile()
    func documented(_ path: String...) -> Set<String> {
      Set(file.keys(["components", "schemas"] + path + ["properties"]))
    }
    let after = iapticPurchase
    let before = Purchase(
      after.key, transactions: after.transactions.values, renewal: TestPurchases.renewal(willRenew: true, signed: 30),
      owner: after.owner)
    let publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([]), webhooks: [])
    let change = PurchaseChange(
      before: before, after: after, holdings: [after], now: TestPurchases.at(32))
    let events = IapticEvents.of(change, IapticDoor(appName: "a", apiKeyHashes: []), publisher)
    let fovea = try payload(.fovea, try #require(events.first).body)
    #expect(names(fovea) == documented("FoveaWebhook"))
    #expect(names(fovea, "purchases", "apple:monthly") == documented("IapticPurchases", "additionalProperties"))
    #expect(names(fovea, "notification") == documented("IapticNotification"))
    let mbaasy = try payload(.mbaasy, Array(#"{"broadcasterId":7,"data":{},"topic":"test"}"#.utf8))
    #expect(names(mbaasy) == documented("MbaasyWebhook"))
  }

  @Test func `iaptic's answers have the members that are documented`() throws {
    let file = try OpenAPIFile()
    let rules = AccessRules(offers: OfferCatalog([]), allowsSandbox: true)
    var shown = try #require(IapticPurchase.of(iapticPurchase, rules: rules, now: TestPurchases.at(32)).first)
    shown.renewalIntentChangeDate = nil
    let element: JSONValue = try JSONText(JSONWriter.object { shown.tell(to: &$0) }).decoded()
    let path = ["components", "schemas", "IapticValidated", "properties", "data", "properties"]
    #expect(names(element) == Set(file.keys(path + ["collection", "items", "properties"])))
    let failure: JSONValue = try JSONText(IapticError.silent.response(hasTextCode: false).body).decoded()
    #expect(names(failure) == Set(file.keys(["components", "schemas", "IapticFailure", "properties"])))
    let read: JSONValue = try JSONText(IapticReadError.unknownUser.response.body).decoded()
    #expect(names(read) == Set(file.keys(["components", "schemas", "IapticReadFailure", "properties"])))
  }
}
