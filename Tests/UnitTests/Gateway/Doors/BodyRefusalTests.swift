import Domain
import EventLoop
import HTTPServer
import Observability
import Testing

@testable import Gateway

/// Each door answers in its own form to a body that the server does not take.
struct BodyRefusalTests {
  private func told(_ door: Door, _ reason: HTTPServer.BodyRefusal) -> String {
    let answer = door.refusal(of: reason, limit: 10)
    return "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))"
  }

  @Test(
    arguments: [
      (.cleeng, #"413 {"code":"REQ0413""#, #"503 {"code":"S0503""#),
      (.mbaasy, #"413 {"errors":{"base""#, #"503 {"errors":{"base""#),
      (.playfab, #"413 {"code":413,"#, #"503 {"code":503,"#),
      (.iaptic, #"200 {"ok":false,"status":400"#, #"200 {"ok":false,"status":503"#),
    ] as [(Door, String, String)])
  func `a long body and one without room`(door: Door, tooLong: String, noRoom: String) {
    #expect(told(door, .tooLong).hasPrefix(tooLong), "\(told(door, .tooLong))")
    #expect(told(door, .noRoom).hasPrefix(noRoom), "\(told(door, .noRoom))")
  }

  @Test @LoopActor func `it counts like any other answer`() {
    let metrics = Metrics()
    let refusal = Door.cleeng.refusal(of: .tooLong, limit: 10)
    GatewayMetrics(metrics).count(refusal, by: .cleeng, "cleeng_payment")
    let lines = metrics.text().split(separator: "\n")
    #expect(lines.contains(#"countersign_door_requests_total{door="cleeng",status="413"} 1"#))
    #expect(lines.contains(#"countersign_http_requests_total{route="cleeng_payment",status="413"} 1"#))
    #expect(lines.contains(#"countersign_door_requests_total{door="mbaasy",status="402"} 0"#))
  }

  @Test func `a path that takes receipts has its door and its label`() {
    let found = Route.receiptDoor(of: ["v1", "validate"])
    #expect(found?.door == .iaptic && found?.label == "iaptic_validate")
    #expect(Route.receiptDoor(of: ["apple", "payment"])?.label == "cleeng_payment")
    #expect(Route.receiptDoor(of: ["storekit2", "purchases"]) == nil)
  }
}
