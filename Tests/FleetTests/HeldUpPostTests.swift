import EventLoop
import Fleets
import HTTP
import ServerSupport
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
      // The proxy that none of the posts came through is told, once; the posts that were refused by their heads count.
      #expect(
        try await fleet.metric("gateway-1", "countersign_unlisted_proxy_requests_total") == Double(refused + 1 + 61))
      #expect(!fleet.logged("through an unlisted proxy").isEmpty)
      #expect(try await fleet.register("20000000000009", id: "beside").status == 202)
      _ = try await fleet.finished(["beside"])
    }
  }

  /// What strangers behind a listed proxy post, and what Apple posts.
  @Test func `what Apple signed is taken above the pace, and repeats of it buy nothing`() async throws {
    let settings = [
      "COUNTERSIGN_GATEWAY_REFUSED_NOTIFICATIONS_PER_SECOND": "1",
      "COUNTERSIGN_GATEWAY_TRUSTED_PROXIES": "127.0.0.0/8",
    ]
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: settings, hasDoors: false) { fleet in
      func post(_ body: String, from address: String) async throws -> Int {
        let headers = [("Content-Type", "application/json"), ("X-Forwarded-For", address)]
        return try await fleet.send("POST", fleet.url("/apple/notifications"), headers, body).status
      }
      func genuine() async throws -> String {
        "{\"signedPayload\":\"\(try await fleet.minted("notification/1000000000000042?type=TEST"))\"}"
      }
      let forged = "{\"signedPayload\":\"a.b.c\"}"
      /// Posts forged ones until one gets 429, and says how many were read.
      func exhaust(_ address: (Int) -> String) async throws -> Int {
        var read = 0
        while read < 10_000, try await post(forged, from: address(read)) == 400 { read += 1 }
        return read
      }
      // A stranger shares an address with what Apple signed: its post is read within a second or two, as one of many.
      _ = try await exhaust { _ in "198.51.100.1" }
      let signed = try await genuine()
      var status = 429
      try await eventually("a signed post is taken above the pace") {
        status = try await post(signed, from: "198.51.100.1")
        return status != 429
      }
      #expect(status == 200)
      // From any other address it is taken at once.
      #expect(try await post(try await genuine(), from: "17.0.0.1") == 200)

      let started = ContinuousClock.now
      for _ in 0..<60 { #expect(try await post(signed, from: "198.51.100.2") == 200) }
      let read = try await exhaust { _ in "198.51.100.2" }
      // Thirty at once, and two more with each second: one by the pace, one above it.
      #expect(read <= 32 + 2 * Int((ContinuousClock.now - started).components.seconds + 1))

      let before = ContinuousClock.now
      let ofNetwork = try await exhaust { "2001:db8:1:\(String($0, radix: 16))::1" }
      // Twice as many of the network of 48 bits.
      #expect(ofNetwork >= 60)
      #expect(ofNetwork <= 64 + 4 * Int((ContinuousClock.now - before).components.seconds + 1))
      #expect(fleet.logged("through an unlisted proxy").isEmpty)
    }
  }
}
