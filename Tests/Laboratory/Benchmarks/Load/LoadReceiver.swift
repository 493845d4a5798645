import EventLoop
import Formats
import Glibc
import HTTPServer

/// The webhook receiver of a benchmark.
///
/// It answers at once below `/h` and `/q`. Below `/x` it answers after 30 seconds, longer than any notifier waits.
/// `GET /result` returns how many webhooks arrived below `/h` and how long after the publication of their events, and
/// resets both.
@LoopActor
final class LoadReceiver {
  private var delays: [Double] = []

  func run(port: Int) async throws -> [String: Double] {
    var configuration = HTTPServer.Configuration(
      maxConnectionsPerAddress: .max, largeBodyShares: .init(ofPublisher: 1, ofAddress: 1))
    configuration.port = port
    configuration.maxConnections = 15_000
    configuration.idleTimeout = .seconds(60)
    let server = try HTTPServer(configuration) { [self] in await answer($0) }
    // It runs until a signal ends the process.
    await LoopSignal().wait(atMost: .seconds(86_400))
    await server.close()
    return [:]
  }

  private func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    switch request.path.first {
    case "h":
      // The last member of the body is the time of publication: "at":1234567890123456}
      let digits = request.body.reversed().drop { !$0.isASCIIDigit }.prefix(while: \.isASCIIDigit)
      let at = digits.reversed().reduce(Int64(0)) { $0 * 10 + Int64($1 - 48) }
      delays.append(Double(unixMicroseconds() - at) / 1000)
      return .text(200, "")
    case "x":
      try? await EventLoop.sleep(for: .seconds(30))
      return .text(200, "")
    case "count": return .text(200, "\(delays.count)")
    case "result":
      defer { delays.removeAll() }
      let result = Percentiles(delays)
      return .text(200, "{\"count\":\(delays.count),\"p50\":\(result[0.5]),\"p99\":\(result[0.99])}")
    default: return .text(200, "")
    }
  }
}
