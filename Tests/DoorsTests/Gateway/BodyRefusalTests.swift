import Domain
import EventLoop
import HTTPServer
import Observability
import Testing

@testable import Doors
@testable import Gateway

/// Each door answers in its own form to a body that the server does not take.
struct BodyRefusalTests {
  private static let routes = RouteTable(DoorRegistry.all)

  private func told(_ door: Door, _ reason: HTTPServer.BodyRefusal) throws -> String {
    let found = try #require(DoorRegistry.all.first { $0.id == door })
    let answer = found.refusal(of: reason, limit: 10)
    return "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))"
  }

  @Test(
    arguments: [
      (.cleeng, #"413 {"code":"REQ0413""#, #"503 {"code":"S0503""#),
      (.mbaasy, #"413 {"errors":{"base""#, #"503 {"errors":{"base""#),
      (.playfab, #"413 {"code":413,"#, #"503 {"code":503,"#),
      (.iaptic, #"200 {"ok":false,"status":400"#, #"200 {"ok":false,"status":503"#),
    ] as [(Door, String, String)])
  func `a long body and one without room`(door: Door, tooLong: String, noRoom: String) throws {
    #expect(try told(door, .tooLong).hasPrefix(tooLong))
    #expect(try told(door, .noRoom).hasPrefix(noRoom))
  }

  @Test @LoopActor func `it counts like any other answer`() {
    let metrics = Metrics()
    let refusal = Cleeng().tooLarge(limit: 10)
    GatewayMetrics(metrics, Self.routes).count(refusal, by: .cleeng, "cleeng_payment")
    let lines = metrics.text().split(separator: "\n")
    #expect(lines.contains(#"countersign_door_requests_total{door="cleeng",status="413"} 1"#))
    #expect(lines.contains(#"countersign_http_requests_total{route="cleeng_payment",status="413"} 1"#))
    #expect(lines.contains(#"countersign_door_requests_total{door="mbaasy",status="402"} 0"#))
  }

  @Test func `a path that takes receipts has its door and its label`() {
    let found = Self.routes.receiptDoor(of: ["v1", "validate"])
    #expect(found?.door.id == .iaptic && found?.label == "iaptic_validate")
    #expect(Self.routes.receiptDoor(of: ["apple", "payment"])?.label == "cleeng_payment")
    #expect(Self.routes.receiptDoor(of: ["storekit2", "purchases"]) == nil)
  }
}
