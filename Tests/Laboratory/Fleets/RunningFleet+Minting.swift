import EventLoop
import HTTP
import HTTPClient
import Simulator
import TestSupport

extension RunningFleet {
  /// What an app would hold, from the simulator: `jws/ID`, or `receipt/ID?also=ID,ID`.
  public func minted(_ path: String) async throws -> String {
    var configuration = HTTPClientConfiguration.patient
    configuration.caFile = "\(folder)/simulator/tls-ca.pem"
    let client = HTTPClient(configuration)
    defer { client.close() }
    let answer = try await client.send(
      HTTPClientRequest("GET", "https://localhost:\(simulator.port)/simulator/\(path)"))
    guard answer.status == 200 else {
      throw NeverHappened(description: "the simulator answered \(answer.status) for \(path)")
    }
    return String(decoding: answer.body, as: UTF8.self)
  }
}
