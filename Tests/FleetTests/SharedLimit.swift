import EventLoop
import Fleets
import HTTP
import Testing

/// A limit that two gateways count together.
struct SharedLimit: Sendable {
  /// Its label in metrics.
  let label: String
  /// The key of `gateway.limits` as the end of a variable, with the value 1.
  let key: String
  /// What is accepted at once at most, and so much more in a second.
  let atOnce: Int
  let perSecond: Double

  /// Sends requests to two gateways in turn until each has refused one, and looks at every answer. Together they accept
  /// no more than one would.
  ///
  /// - Parameter send: sends the request with a number to a gateway.
  @LoopActor
  func meet(
    send: @LoopActor (Int, RunningFleet, String) async throws -> HTTPClientResponse,
    accepted check: @LoopActor (HTTPClientResponse) -> Void,
    refused checkRefusal: @LoopActor (HTTPClientResponse) -> Void
  ) async throws {
    try await RunningFleet.with(
      ["gateway-1", "gateway-2"], overrides: ["COUNTERSIGN_GATEWAY_LIMITS_\(key)": "1"]
    ) { fleet in
      let start = ContinuousClock.now
      var (accepted, refusing, number) = (0, Set<String>(), 0)
      while refusing.count < 2, number < 2000 {
        let gateway = "gateway-\(number % 2 + 1)"
        let answer = try await send(number, fleet, gateway)
        number += 1
        guard answer.status == 429 else {
          check(answer)
          accepted += 1
          continue
        }
        checkRefusal(answer)
        refusing.insert(gateway)
      }
      let seconds = (ContinuousClock.now - start) / .seconds(1)
      #expect(accepted >= 1)
      #expect(Double(accepted) <= Double(atOnce) + perSecond * seconds)
      for gateway in refusing {
        #expect(try await fleet.metric(gateway, "countersign_limited_total{limit=\"\(label)\"}") >= 1)
      }
      #expect(refusing.count == 2)
    }
  }
}
