import EventLoop
import HTTPServer
import Observability
import Service
import Testing

/// Health and metrics answer to one form of their paths, so that a proxy can keep them inside.
@LoopActor
struct HealthEndpointsTests {
  private let endpoints = HealthEndpoints(metrics: Metrics(), checks: [])

  private func status(_ method: String, _ rawPath: String) -> Int? {
    let path = pathSegments(rawPath[...]) ?? []
    return endpoints.answer(HTTPServerRequest(method: method, path: path, rawPath: rawPath))?.status
  }

  @Test(arguments: ["/livez", "/readyz", "/metrics"]) func `the exact path is answered`(path: String) {
    #expect(status("GET", path) == 200)
    #expect(status("HEAD", path) == 200)
    #expect(status("POST", path) == 405)
  }

  @Test(arguments: [
    "/metrics/", "//metrics", "/%6detrics", "/metrics%2F", "metrics", "/Metrics", "/livez/", "/./readyz", "/readyz//",
    "",
  ])
  func `no other way to write it is`(path: String) {
    for method in ["GET", "HEAD", "POST"] { #expect(status(method, path) == nil) }
  }
}
