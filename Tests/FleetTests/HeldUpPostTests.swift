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
        try await fleet.send("POST", fleet.url(path), [("Content-Type", "application/json")], #"{"password":"wrong"}"#)
      }
      let old = "/1.0/in_app/subscriptions/apple/status_update_notification/\(RunningFleet.publisher)"
      var answer = try await post(old)
      var refused = 0
      // Thirty at once, and one more with each second that the posts take.
      while answer.status == 400, refused < 10_000 {
        refused += 1
        answer = try await post(old)
      }
      #expect(answer.status == 429 && refused >= 30)
      #expect(answer.header("retry-after").flatMap(Int.init).map { $0 >= 1 } == true)
      #expect(String(decoding: answer.body, as: UTF8.self).contains("REQ0429"))
      // The other path is no way around it.
      #expect(try await post("/apple/notifications").status == 429)
      #expect(try await fleet.metric("gateway-1", "countersign_notifications_total{outcome=\"too_fast\"}") >= 2)
      #expect(try await fleet.register("20000000000009", id: "beside").status == 202)
      _ = await fleet.finished(["beside"])
    }
  }
}
