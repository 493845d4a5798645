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
  /// What both together accept at once, and so much more in a second.
  let atOnce: Int
  let perSecond: Double
  /// How many of those that come at once the start of the fleet may have used.
  var usedByStart = 0

  /// Sends pairs of requests, one to each of two gateways at the same time, until both have refused one, and looks at
  /// every answer. Together they accept as many as one would, and no more.
  ///
  /// - Parameter send: sends the request with a number to a gateway.
  @LoopActor
  func meet(
    send: @escaping @LoopActor (Int, RunningFleet, String) async throws -> HTTPClientResponse,
    accepted check: @LoopActor (HTTPClientResponse) -> Void,
    refused checkRefusal: @LoopActor (HTTPClientResponse) -> Void
  ) async throws {
    let gateways = ["gateway-1", "gateway-2"]
    try await RunningFleet.with(gateways, overrides: ["COUNTERSIGN_GATEWAY_LIMITS_\(key)": "1"]) { fleet in
      let start = ContinuousClock.now
      var (accepted, refusing, number) = (0, Set<String>(), 0)
      while refusing.count < gateways.count, number < 2000 {
        let first = number
        let sent = gateways.enumerated().map { place, gateway in
          Task { @LoopActor in try await send(first + place, fleet, gateway) }
        }
        number += gateways.count
        for (gateway, one) in zip(gateways, sent) {
          let answer = try await one.value
          guard answer.status == 429 else {
            check(answer)
            accepted += 1
            continue
          }
          checkRefusal(answer)
          refusing.insert(gateway)
        }
      }
      let seconds = (ContinuousClock.now - start) / .seconds(1)
      // Nobody is refused before all are accepted that may come at once.
      #expect(accepted >= atOnce - usedByStart)
      #expect(Double(accepted) <= Double(atOnce) + perSecond * seconds)
      for gateway in refusing {
        #expect(try await fleet.metric(gateway, "countersign_limited_total{limit=\"\(label)\"}") >= 1)
      }
      #expect(refusing.count == gateways.count)
    }
  }
}
