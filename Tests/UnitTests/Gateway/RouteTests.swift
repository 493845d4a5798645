import HTTPServer
import Testing

@testable import Gateway

/// Paths and methods.
struct RouteTests {
  private func refusal(_ method: String, _ path: [String]) -> Problem? {
    do {
      _ = try Route(method, path)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [[], ["storekit2"]]) func withAndWithoutPrefix(prefix: [String]) throws {
    #expect(try Route("POST", prefix + ["purchases"]) == .register)
    #expect(try Route("GET", prefix + ["purchases", "synchronizations", "a/b"]) == .status("a/b"))
    #expect(try Route("HEAD", prefix + ["purchases", "synchronizations", "x"]) == .status("x"))
    #expect(try Route("GET", prefix + ["customers", "5"]) == .customer("5", .get))
    #expect(try Route("HEAD", prefix + ["customers", "5"]) == .customer("5", .get))
    #expect(try Route("PUT", prefix + ["customers", "5"]) == .customer("5", .put))
    #expect(try Route("DELETE", prefix + ["customers", "5"]) == .customer("5", .delete))
  }

  @Test(arguments: [[], ["3.1"]]) func webhooks(prefix: [String]) throws {
    #expect(try Route("PUT", prefix + ["webhook_subscriptions", "t"]) == .webhooks(.subscriptions(topic: "t", .put)))
    #expect(try Route("HEAD", prefix + ["webhook_subscriptions", "t"]) == .webhooks(.subscriptions(topic: "t", .get)))
    #expect(try Route("POST", prefix + ["webhook_endpoints"]) == .webhooks(.endpoints(.post)))
    #expect(try Route("GET", prefix + ["webhook_endpoints"]) == .webhooks(.endpoints(.get)))
    #expect(try Route("PATCH", prefix + ["webhook_endpoints", "a/b"]) == .webhooks(.endpoint("a/b", .patch)))
    #expect(try Route("GET", prefix + ["webhook_endpoints", "enable"]) == .webhooks(.endpoint("enable", .get)))
    #expect(
      try Route("POST", prefix + ["webhook_endpoints", "a", "enable"]) == .webhooks(.change(endpoint: "a", .enable)))
    #expect(
      try Route("POST", prefix + ["webhook_endpoints", "a", "rotate_secret"])
        == .webhooks(.change(endpoint: "a", .rotateSecret)))
    #expect(try Route("GET", prefix + ["webhook_endpoints", "a", "attempts"]) == .webhooks(.endpointAttempts("a")))
    #expect(try Route("GET", prefix + ["webhook_events", "e", "attempts"]) == .webhooks(.eventAttempts("e")))
    #expect(
      try Route("POST", prefix + ["webhook_events", "e", "deliveries", "a", "resend"])
        == .webhooks(.resend(event: "e", endpoint: "a")))
  }

  @Test(arguments: ["livez", "readyz", "metrics"]) func health(name: String) throws {
    #expect(try Route("GET", [name]) == .health)
  }

  @Test(arguments: [
    [], ["storekit2"], ["storekit2", "storekit2", "purchases"], ["Purchases"], ["purchases", "x"], ["purchases", ""],
    ["purchases", "synchronizations"], ["purchases", "synchronizations", "a", "b"], ["purchases", "other", "a"],
    ["customers"], ["customers", "5", "x"], ["livez", "x"], ["synchronizations", "a"], ["purchases/synchronizations/a"],
    ["storekit2", "livez"], ["storekit2", "metrics"], ["storekit2", "webhook_endpoints"], ["3.1", "purchases"],
    ["3.1"], ["3.1", "3.1", "webhook_endpoints"], ["webhook_subscriptions"], ["webhook_endpoints", "a", "other"],
    ["webhook_endpoints", "a", "rotateSecret"],
  ])
  func notFound(path: [String]) {
    #expect(refusal("GET", path) == .notFound)
    #expect(refusal("POST", path) == .notFound)
  }

  @Test(arguments: [
    ("GET", ["purchases"], "POST"), ("post", ["purchases"], "POST"), ("HEAD", ["storekit2", "purchases"], "POST"),
    ("POST", ["purchases", "synchronizations", "a"], "GET, HEAD"),
    ("DELETE", ["storekit2", "purchases", "synchronizations", "a"], "GET, HEAD"),
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
