import HTTPServer
import Testing

import struct Domain.Door

@testable import Doors
@testable import Gateway

/// Paths and methods.
struct RouteTests {
  private static let routes = RouteTable(DoorRegistry.all)

  private func refusal(_ method: String, _ path: [String]) -> Problem? {
    do {
      _ = try Self.routes.find(method, path)
      return nil
    } catch {
      return error
    }
  }

  /// Checks which route answers a request, and with which parameters.
  private func expect(
    _ method: String, _ path: [String], _ template: String, _ values: [Route.Parameter: String] = [:],
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let found = try Self.routes.find(method, path)
    #expect(found.route.path == template, sourceLocation: location)
    #expect(found.route.method.rawValue == (method == "HEAD" ? "GET" : method), sourceLocation: location)
    #expect(found.values == values, sourceLocation: location)
  }

  @Test(arguments: ["/v1/validate", "/v1/validate/", "//v1//validate", "/v1/%76alidate", "/v1/validat%65/"])
  func `every way to write a receipt's path has the door's limits`(path: String) throws {
    let segments = try #require(pathSegments(path[...]))
    try expect("POST", segments, "/v1/validate")
    guard case .receipt(let found) = Self.routes.largeBody(ofRaw: path[...]) else {
      Issue.record("\(path) takes no receipts")
      return
    }
    #expect(found.door.id == .iaptic)
    #expect(Self.routes.receiptDoor(of: segments)?.door.id == .iaptic)
  }

  @Test(arguments: ["GET", "HEAD", "POST"]) func `health and metrics have their exact paths only`(method: String) throws
  {
    for name in ["livez", "readyz", "metrics"] {
      for path in ["/\(name)/", "//\(name)", "/%\(String(name.utf8.first ?? 0, radix: 16))\(name.dropFirst())"] {
        let segments = try #require(pathSegments(path[...]))
        #expect(segments == [name])
        let problem = #expect(throws: Problem.self) { _ = try Self.routes.find(method, segments, rawPath: path) }
        #expect(problem?.status == 404)
      }
      guard method != "POST" else { continue }
      #expect(try Self.routes.find(method, [name], rawPath: "/\(name)").route.label == "health")
    }
    // Other routes keep all forms.
    #expect(try Self.routes.find("POST", ["v1", "validate"], rawPath: "//v1/validate/").route.path == "/v1/validate")
  }

  @Test(arguments: [
    "/v2/customers", "/storekit2/purchases", "/", "", "/v1", "/v1/validate/x", "/v1/%zz", "/imports",
    "/imports/i/start",
  ])
  func `other paths take no receipts`(path: String) {
    #expect(Self.routes.largeBody(ofRaw: path[...]) == nil)
  }

  @Test(arguments: [
    "/apple/notifications", "/apple/notifications/", "//apple/%6eotifications",
    "/1.0/in_app/subscriptions/apple/status_update_notification/1001/",
  ])
  func `every way to write a notification's path has its limits`(path: String) {
    guard case .notification = Self.routes.largeBody(ofRaw: path[...]) else {
      Issue.record("\(path) takes no notifications")
      return
    }
  }

  @Test(arguments: [[], ["storekit2"]]) func withAndWithoutPrefix(prefix: [String]) throws {
    try expect("POST", prefix + ["purchases"], "/storekit2/purchases")
    let status = "/storekit2/purchases/synchronizations/{synchronizationId}"
    try expect("GET", prefix + ["purchases", "synchronizations", "a/b"], status, [.synchronizationId: "a/b"])
    try expect("HEAD", prefix + ["purchases", "synchronizations", "x"], status, [.synchronizationId: "x"])
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
      try expect(method, prefix + ["customers", "5"], "/customers/{customerId}", [.customerId: "5"])
    }
    try expect("GET", prefix + ["customers"], "/customers")
    try expect("GET", prefix + ["customers", "a/b", "export"], "/customers/{customerId}/export", [.customerId: "a/b"])
    try expect("GET", prefix + ["customers", "a/b", "card"], "/customers/{customerId}/card", [.customerId: "a/b"])
    try expect("HEAD", prefix + ["card"], "/card")
    try expect("GET", prefix + ["customers", "card"], "/customers/{customerId}", [.customerId: "card"])
    try expect("GET", prefix + ["audit"], "/audit")
    try expect("GET", prefix + ["events"], "/events")
    try expect("GET", prefix + ["export"], "/export")
    for method in ["GET", "PUT"] {
      try expect(
        method, prefix + ["customers", "a/b", "consent"], "/customers/{customerId}/consent", [.customerId: "a/b"])
      try expect(
        method, prefix + ["refund-requests", "r"], "/refund-requests/{refundRequestId}", [.refundRequestId: "r"])
    }
    try expect("GET", prefix + ["refund-requests"], "/refund-requests")
  }

  @Test(arguments: [[], ["storekit2"]]) func `purchases and what they give`(prefix: [String]) throws {
    try expect("POST", prefix + ["purchases", "transfers"], "/storekit2/purchases/transfers")
    let entitlements = "/customers/{customerId}/entitlements"
    try expect("GET", prefix + ["customers", "a/b", "entitlements"], entitlements, [.customerId: "a/b"])
    try expect(
      "HEAD", prefix + ["customers", "5", "entitlements", "S1"], entitlements + "/{offerId}",
      [.customerId: "5", .offerId: "S1"])
    try expect(
      "GET", prefix + ["customers", "5", "purchases"], "/customers/{customerId}/purchases", [.customerId: "5"])
    let purchase = "/purchases/{originalTransactionId}"
    try expect("GET", prefix + ["purchases", "100"], purchase, [.originalTransactionId: "100"])
    try expect(
      "POST", prefix + ["purchases", "100", "release"], purchase + "/release", [.originalTransactionId: "100"])
    // No transaction is called so.
    #expect(refusal("GET", prefix + ["purchases", "transfers"])?.headers == ["Allow": "POST"])
    #expect(refusal("POST", prefix + ["purchases", "100"])?.headers == ["Allow": "GET, HEAD"])
  }

  @Test(arguments: [[], ["storekit2"]]) func imports(prefix: [String]) throws {
    for method in ["POST", "GET"] { try expect(method, prefix + ["imports"], "/imports") }
    for method in ["GET", "HEAD", "DELETE"] {
      try expect(method, prefix + ["imports", "i"], "/imports/{importId}", [.importId: "i"])
    }
    for step in ["file", "check", "start", "cancel"] {
      try expect("POST", prefix + ["imports", "i", step], "/imports/{importId}/\(step)", [.importId: "i"])
    }
    try expect("GET", prefix + ["imports", "i", "report"], "/imports/{importId}/report", [.importId: "i"])
    #expect(refusal("PUT", prefix + ["imports", "i", "file"])?.headers == ["Allow": "POST"])
  }

  @Test(arguments: ["/imports/i/file", "/storekit2/imports/i/file/", "//imports/i/fil%65"])
  func `every way to write the path of a file's part has its limits`(path: String) {
    guard case .importPart = Self.routes.largeBody(ofRaw: path[...]) else {
      Issue.record("\(path) takes no parts")
      return
    }
  }

  @Test(arguments: [[], ["3.1"]]) func webhooks(prefix: [String]) throws {
    for method in ["PUT", "HEAD"] {
      try expect(method, prefix + ["webhook_subscriptions", "t"], "/3.1/webhook_subscriptions/{topic}", [.topic: "t"])
    }
    try expect("POST", prefix + ["webhook_endpoints"], "/3.1/webhook_endpoints")
    let endpoint = "/3.1/webhook_endpoints/{endpointId}"
    try expect("PATCH", prefix + ["webhook_endpoints", "a/b"], endpoint, [.endpointId: "a/b"])
    try expect("GET", prefix + ["webhook_endpoints", "enable"], endpoint, [.endpointId: "enable"])
    for change in ["enable", "disable", "rotate_secret", "test", "recover"] {
      try expect("POST", prefix + ["webhook_endpoints", "a", change], endpoint + "/" + change, [.endpointId: "a"])
    }
    try expect("GET", prefix + ["webhook_endpoints", "a", "attempts"], endpoint + "/attempts", [.endpointId: "a"])
    try expect(
      "GET", prefix + ["webhook_events", "e", "attempts"], "/3.1/webhook_events/{eventId}/attempts", [.eventId: "e"])
    try expect(
      "POST", prefix + ["webhook_events", "e", "deliveries", "a", "resend"],
      "/3.1/webhook_events/{eventId}/deliveries/{endpointId}/resend", [.eventId: "e", .endpointId: "a"])
  }

  @Test(arguments: ["livez", "readyz", "metrics"]) func health(name: String) throws {
    try expect("GET", [name], "/" + name)
    #expect(refusal("POST", [name])?.headers == ["Allow": "GET, HEAD"])
  }

  @Test func `each operation is declared once, and its label says what it is about`() {
    let operations = Self.routes.all.map { "\($0.method.rawValue) \($0.path)" }
    #expect(Set(operations).count == operations.count)
    #expect(
      Set(Self.routes.all.map(\.label)) == [
        "register", "status", "transfer", "entitlements", "purchases", "purchase", "release", "customer", "audit",
        "events", "health", "webhook_subscriptions", "webhook_endpoints", "webhook_endpoints_enable",
        "webhook_endpoints_disable", "webhook_endpoints_rotate_secret",
        "webhook_endpoints_test", "webhook_endpoints_recover", "webhook_attempts", "webhook_deliveries_resend",
        "cleeng_payment", "cleeng_entitlement", "cleeng_json_rpc", "mbaasy_receipts",
        "playfab_restore", "playfab_validate", "iaptic_validate", "iaptic_purchases", "iaptic_customers",
        "iaptic_subscription", "notifications", "consent", "refund_requests", "grants", "order",
        "export", "imports", "sandbox_access", "card",
      ])
  }

  @Test(arguments: [
    [], ["storekit2"], ["storekit2", "storekit2", "purchases"], ["Purchases"], ["purchases", "a", "x"],
    ["purchases", "a", "release", "x"], ["customers", "5", "entitlements", "a", "b"],
    ["purchases", "synchronizations", "a", "b"], ["purchases", "other", "a"],
    ["customers", "5", "x"], ["customers", "5", "export", "x"], ["export", "1"], ["audit", "1"], ["livez", "x"],
    ["card", "1"], ["customers", "5", "card", "x"],
    ["synchronizations", "a"], ["purchases/synchronizations/a"],
    ["storekit2", "livez"], ["storekit2", "metrics"], ["storekit2", "webhook_endpoints"], ["3.1", "purchases"],
    ["3.1"], ["3.1", "3.1", "webhook_endpoints"], ["webhook_subscriptions"], ["webhook_endpoints", "a", "other"],
    ["webhook_endpoints", "a", "rotateSecret"],
  ])
  func notFound(path: [String]) {
    for method in ["GET", "POST"] {
      let problem = refusal(method, path)
      #expect(problem?.status == 404 && problem?.code == "REQ0100")
      let shown = "/" + path.joined(separator: "/")
      #expect(problem?.detail == "The API has no path \(shown). All of its paths are in docs/reference/openapi.yaml.")
    }
  }

  @Test(arguments: [
    ("GET", ["purchases"], "POST"), ("post", ["purchases"], "POST"), ("HEAD", ["storekit2", "purchases"], "POST"),
    ("POST", ["purchases", "synchronizations", "a"], "GET, HEAD"),
    ("DELETE", ["storekit2", "purchases", "synchronizations", "a"], "GET, HEAD"),
    ("POST", ["customers"], "GET, HEAD"), ("DELETE", ["audit"], "GET, HEAD"),
    ("PUT", ["customers", "5", "export"], "GET, HEAD"),
    ("POST", ["customers", "5"], "DELETE, GET, HEAD, PUT"), ("PATCH", ["customers", "5"], "DELETE, GET, HEAD, PUT"),
    ("DELETE", ["webhook_endpoints"], "GET, HEAD, POST"), ("POST", ["webhook_subscriptions", "t"], "GET, HEAD, PUT"),
    ("PUT", ["3.1", "webhook_endpoints", "a"], "DELETE, GET, HEAD, PATCH"),
    ("GET", ["webhook_endpoints", "a", "enable"], "POST"), ("OPTIONS", ["webhook_endpoints"], "GET, HEAD, POST"),
  ])
  func methodNotAllowed(method: String, path: [String], allow: String) throws {
    let problem = try #require(refusal(method, path))
    #expect(problem.status == 405)
    #expect(problem.code == "REQ0405")
    #expect(problem.response.headers.filter { $0.name == "Allow" }.map(\.value) == [allow])
  }
}
