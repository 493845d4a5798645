import EventLoop
import HTTP
import Harness
import TestSupport
import Testing

/// A stranger who posts what is not Apple's is held up, and nobody else.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct HeldUpPostTests {
  @Test func `an address whose posts are refused too often gets 429, and registers all the same`() async throws {
    let slow = ["COUNTERSIGN_GATEWAY_REFUSED_NOTIFICATIONS_PER_SECOND": "1"]
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: slow, hasDoors: false) { fleet in
      func post(_ path: String) async throws -> HTTPClientResponse {
        let headers = [("Content-Type", "application/json"), ("X-Forwarded-For", "198.51.100.1")]
        return try await fleet.send("POST", fleet.url(path), headers, #"{"password":"wrong"}"#)
      }
      let path = "/1.0/in_app/subscriptions/apple/status_update_notification/"
      let old = path + "\(RunningFleet.publisher)"
      var answer = try await post(old)
      var refused = 0
      // Thirty at once, and two more with each second that the posts take.
      while answer.status == 400, refused < 10_000 {
        refused += 1
        answer = try await post(old)
      }
      #expect(answer.status == 429 && refused >= 30)
      #expect(answer.header("retry-after").flatMap(Int.init).map { $0 >= 1 } == true)
      #expect(String(decoding: answer.body, as: UTF8.self).contains("REQ0429"))
      // Apple posts for all publishers from the same addresses, so nobody else is held up; nor is who has set up the
      // path of version 2 for version 1.
      for _ in 0..<60 { #expect(try await post("/apple/notifications").status == 400) }
      #expect(try await post(path + "\(RunningFleet.openPublisher)").status == 400)
      #expect(try await fleet.metric("gateway-1", "countersign_notifications_total{outcome=\"too_fast\"}") >= 1)
      // The proxy that none of the posts came through is told, once.
      #expect(try await fleet.metric("gateway-1", "countersign_unlisted_proxy_requests_total") >= 91)
      #expect(!fleet.logged("a proxy that is not listed").isEmpty)
      #expect(try await fleet.register("20000000000009", id: "beside").status == 202)
      _ = await fleet.finished(["beside"])
    }
  }
}
