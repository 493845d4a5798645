import EventLoop
import FoundationEssentials
import Purchases
import TestSupport
import Testing

@testable import Gateway

/// docs/openapi.yaml against the code: paths and methods, and the members of what is sent and answered.
struct OpenAPITests {
  /// As much of the file as indentation tells; it is written so, and a file that is not fails the test.
  private struct File {
    let lines: [Substring]

    init() throws {
      let data = try Data(contentsOf: URL(filePath: Repository.root + "/docs/openapi.yaml"))
      lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: true)
    }

    /// The keys one level below a path of keys.
    func keys(_ path: String...) -> [String] {
      var found: [String] = []
      var depth = 0
      for line in lines {
        let indentation = line.prefix { $0 == " " }.count
        // Back out of the part that was looked for.
        if depth == path.count, indentation < depth * 2 { break }
        guard indentation == depth * 2, let key = key(line.dropFirst(indentation)) else { continue }
        if depth == path.count { found.append(key) } else if key == path[depth] { depth += 1 }
      }
      return found
    }

    private func key(_ line: Substring) -> String? {
      guard line.first != "#", line.first != "-", let colon = line.firstIndex(of: ":") else { return nil }
      return line[..<colon].filter { $0 != "\"" }
    }
  }

  @Test func `every route is in the file, and every operation of the file is a route`() throws {
    let file = try File()
    let methods = ["get", "put", "post", "patch", "delete"]
    var documented: [String: Set<String>] = [:]
    for path in file.keys("paths") {
      documented[path] = Set(file.keys("paths", path).filter(methods.contains).map { $0.uppercased() })
    }
    var served: [String: Set<String>] = [:]
    for resource in Resource.all { served[resource.path] = Set(resource.routes.keys.map(\.rawValue)) }
    for path in Route.healthPaths { served["/" + path] = ["GET"] }
    #expect(Set(documented.keys) == Set(served.keys))
    #expect(documented == served)
    #expect(documented.count > 10)
  }

  @Test func `a documented path is found as it is written, and without its prefix`() throws {
    for resource in Resource.all {
      let path = resource.path.split(separator: "/").map(String.init)
      for method in resource.routes.keys {
        let route = try Route(method.rawValue, path)
        if ["3.1", "storekit2"].contains(path[0]) {
          #expect(try Route(method.rawValue, Array(path.dropFirst())) == route)
        }
      }
    }
  }

  private func members(_ value: Any) -> Set<String> { Set(Mirror(reflecting: value).children.compactMap(\.label)) }

  @Test func `answers have the members that are documented`() throws {
    let file = try File()
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
    #expect(members(CustomerBody(Customer(id: 1))) == documented("Customer"))
    let status = StatusAnswer(
      Synchronization(id: "s", publisherId: 1, customerId: 1, transactionId: "1", status: .processing))
    #expect(members(status) == documented("Synchronization"))
  }

  @Test func `bodies have the members that are documented`() throws {
    let file = try File()
    #expect(
      Set(file.keys("components", "schemas", "NewWebhookEndpoint", "properties"))
        == Set(EndpointRequest.names + EndpointRequest.chosenOnce))
    #expect(
      Set(file.keys("components", "schemas", "WebhookEndpointChanges", "properties")) == Set(EndpointRequest.names))
    #expect(
      Set(file.keys("components", "schemas", "WebhookSubscription", "properties")) == Set(subscriptionMembers))
  }
}
