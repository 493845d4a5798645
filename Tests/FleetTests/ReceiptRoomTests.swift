import Crypto
import Domain
import EventLoop
import Fleets
import Formats
import JSON
import ServerSupport
import Simulator
import TestSupport
import Testing

/// Strangers who took an app's public key out of the app, at a running gateway.
@Suite(
  .breakingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ReceiptRoomTests {
  private static let other: PublisherId = 1003
  private static let otherKey = "the-key-of-another-app"

  /// Opens iaptic's door for another publisher.
  private static func openOther(_ fleet: RunningFleet) throws {
    let hash = Hex.encode(SHA256.hash(Array(otherKey.utf8)))
    try fleet.writePublisher(
      other,
      """
      "apps": [\(RunningFleet.app)], "offers": \(RunningFleet.offers),
      "doors": {"iaptic": {"enabled": true, "appName": "another", "apiKeyHashes": ["\(hash)"]}}
      """)
  }

  private static func basic(_ name: String, _ key: String) -> String {
    "Basic " + Base64.encode(Array("\(name):\(key)".utf8))
  }

  @Test func `slow bodies with an app's key leave room for its backend, for another publisher, and for its users`()
    async throws
  {
    // A publisher has 12.8 MiB, its apps 9.6 of them. The slow ones stay for the whole test.
    let overrides = [
      "COUNTERSIGN_GATEWAY_BODY_SHARE_PER_PUBLISHER": "0.05", "COUNTERSIGN_GATEWAY_HEAD_TIMEOUT_SECONDS": "300",
      "COUNTERSIGN_GATEWAY_BODY_TIMEOUT_SECONDS": "3600",
    ]
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: overrides, prepare: Self.openOther) { fleet in
      let port = try #require(fleet.roles["gateway-1"]?.address.split(separator: ":").last.flatMap { Int($0) })
      let own = Self.basic(RunningFleet.iapticAppName, RunningFleet.iapticAPIKey)
      let head = """
        POST /v1/validate HTTP/1.1\r\nHost: a\r\nAuthorization: \(own)\r\nContent-Type: application/json\r
        Content-Length: 2900000\r\n\r\n
        """
      var strangers: [Stranger] = []
      defer { for stranger in strangers { stranger.close() } }
      for number in 1...20 {
        let stranger = try Stranger(from: "127.0.8.\(number)", to: port)
        stranger.send(Array(head.utf8) + [UInt8](repeating: 0x20, count: 600_000))
        strangers.append(stranger)
      }
      try await eventually("the strangers hold all that they can") {
        try await fleet.metric("gateway-1", "countersign_http_bodies_refused_total{cause=\"publisher_share\"}") >= 1
      }
      #expect(try await fleet.metric("gateway-1", "countersign_http_body_bytes") > 8_000_000)

      let client = IapticClient(fleet: fleet, isFresh: true)
      let secret = Self.basic(RunningFleet.iapticAppName, RunningFleet.iapticSecretKey)
      for (credential, transaction, bytes) in [
        (secret, "1000000000001", 600_000), (Self.basic("another", Self.otherKey), "1000000000002", 600_000),
        (own, "1000000000003", 0),
      ] {
        let jws = try fleet.simulator.signedTransaction(transaction)
        let body = """
          {"id":"com.example.app","type":"application","transaction":{"type":"apple-sk2","jwsRepresentation":"\(jws)"},\
          "device":{"plugin":"cordova-plugin-purchase/13.12.0"}}
          """
        let answer = try await client.post(
          body + String(repeating: " ", count: bytes), query: "", headers: [("Authorization", credential)])
        #expect(answer.status == 200 && answer["ok"] == .bool(true), "\(transaction): \(answer)")
      }
      #expect(strangers.contains { !$0.hasEnded }, "the strangers are still there")
    }
  }
}
