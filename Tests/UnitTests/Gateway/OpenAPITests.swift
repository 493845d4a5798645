import AMQP
import Domain
import Formats
import JSON
import Ledger
import Testing

@testable import Gateway
@testable import Notifier

/// Compares docs/reference/openapi.yaml with the code: paths and methods, and the members of requests and answers.
struct OpenAPITests {
  @Test func `every route is in the file, and every operation of the file is a route`() throws {
    let file = try OpenAPIFile()
    let methods = ["get", "put", "post", "patch", "delete"]
    var documented: [String: Set<String>] = [:]
    for path in file.keys("paths") {
      documented[path] = Set(file.keys("paths", path).filter(methods.contains).map { $0.uppercased() })
    }
    var served: [String: Set<String>] = [:]
    for route in Route.all { served[route.path, default: []].insert(route.method.rawValue) }
    #expect(Set(documented.keys) == Set(served.keys))
    #expect(documented == served)
    #expect(documented.count > 10)
  }

  @Test func `who may call is in the file`() throws {
    let file = try OpenAPIFile()
    for route in Route.all {
      let expected: String?
      switch route.access {
      case .anyone: expected = "[]"
      case .publisher: expected = "[{publisherToken: []}]"
      case .publisherOrCustomer: expected = nil  // the default of the whole API in the file
      case .door: continue  // a door has the credentials of its vendor
      }
      let security = file.value("paths", route.path, route.method.rawValue.lowercased(), "security")
      #expect(security == expected, "\(route.method.rawValue) \(route.path)")
    }
  }

  @Test func `a documented path is found as it is written, and without its prefix`() throws {
    for route in Route.all {
      let path = route.path.split(separator: "/").map(String.init)
      let found = try Route.find(route.method.rawValue, path)
      #expect(found.route.path == route.path)
      // Every parameter of the path has the name that the file uses, and there is no other.
      #expect(found.values.values.sorted() == path.filter { $0.first == "{" }.sorted())
      #expect(found.values.allSatisfy { $1 == "{\($0.rawValue)}" })
      if ["3.1", "storekit2"].contains(path[0]) {
        #expect(try Route.find(route.method.rawValue, Array(path.dropFirst())).route.path == route.path)
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
    #expect(documented.sorted() == SynchronizationResult.known.map(\.rawValue).sorted())
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
    let attempt = DeliveryAttempt(eventId: "e", endpointId: "a", topic: "t", number: 1, time: 0, outcome: .failed)
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

  private func payload(_ format: WebhookEndpoint.Format) throws -> JSONValue {
    let body = """
      {"broadcasterId":7,"data":{"accessGranted":true,"cleengCustomerId":42,"customerId":"42","environment":"Sandbox","offerId":"S1",\
      "originalTransactionId":"99","result":"PURCHASE_SYNCHRONIZED","synchronizationId":"s","transactionId":"100"},\
      "topic":"inappPurchaseSyncResult"}
      """
    let headers: [String: AMQPValue] = ["cloudEvents_time": "2026-11-21T18:00:00.000Z"]
    let delivery = try Delivery(eventId: "evt_1", endpointId: nil, headers: headers, body: Array(body.utf8))
    let endpoint = WebhookEndpoint(id: "e", url: "u", topics: [], format: format, secrets: [])
    return try JSONText(WebhookPayload(delivery, endpoint, keys: [Array("0123456789abcdef".utf8)]).body).decoded()
  }

  /// The names of the members at a path.
  private func names(_ value: JSONValue, _ path: String...) -> Set<String>? {
    var value = value
    for name in path {
      guard case .object(let members) = value, let member = members[name.exact] else { return nil }
      value = member
    }
    if case .object(let members) = value { return Set(members.keys.map(\.text)) } else { return nil }
  }

  @Test func `webhooks in the shapes of others have the members that are documented`() throws {
    let file = try OpenAPIFile()
    func documented(_ path: String...) -> Set<String> {
      Set(file.keys(["components", "schemas"] + path + ["properties"]))
    }
    let fovea = try payload(.fovea)
    #expect(names(fovea) == documented("FoveaWebhook"))
    #expect(
      names(fovea, "purchases", "S1")
        == documented("FoveaWebhook", "properties", "purchases", "additionalProperties"))
    #expect(names(fovea, "notification") == documented("FoveaWebhook", "properties", "notification"))
    let mbaasy = try payload(.mbaasy)
    #expect(names(mbaasy) == documented("MbaasyWebhook"))
    for name in ["data", "new_attributes"] { #expect(names(mbaasy, name) == documented("MbaasyAttributes")) }
    #expect(names(mbaasy, "previous_attributes") == [])
  }
}
