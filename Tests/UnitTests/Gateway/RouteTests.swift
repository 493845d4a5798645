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

  @Test(arguments: ["livez", "readyz", "metrics"]) func health(name: String) throws {
    #expect(try Route("GET", [name]) == .health)
  }

  @Test(arguments: [
    [], ["storekit2"], ["storekit2", "storekit2", "purchases"], ["Purchases"], ["purchases", "x"], ["purchases", ""],
    ["purchases", "synchronizations"], ["purchases", "synchronizations", "a", "b"], ["purchases", "other", "a"],
    ["customers"], ["customers", "5", "x"], ["livez", "x"], ["synchronizations", "a"], ["purchases/synchronizations/a"],
    ["storekit2", "livez"], ["storekit2", "metrics"],
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
  ])
  func methodNotAllowed(method: String, path: [String], allow: String) throws {
    let problem = try #require(refusal(method, path))
    #expect(problem.status == 405)
    #expect(problem.code == "REQ0405")
    #expect(problem.response.headers.filter { $0.name == "Allow" }.map(\.value) == [allow])
  }
}
