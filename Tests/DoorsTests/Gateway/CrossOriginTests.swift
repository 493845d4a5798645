import Doors
import HTTPServer
import Testing

@testable import Gateway

/// Preflights of clients in a browser.
struct CrossOriginTests {
  private func ask(
    _ method: String = "OPTIONS", _ path: [String] = ["v1", "validate"], wanted: String? = "POST",
    headers: String? = nil
  ) -> HTTPServerResponse? {
    var fields = [(name: "Origin", value: "ionic://localhost")]
    if let wanted { fields.append((name: "Access-Control-Request-Method", value: wanted)) }
    if let headers { fields.append((name: "Access-Control-Request-Headers", value: headers)) }
    let routes = RouteTable(DoorRegistry.all).ofDoors
    return CrossOrigin.preflight(HTTPServerRequest(method: method, path: path, headers: fields), routes)
  }

  private func field(_ name: String, _ response: HTTPServerResponse?) -> String? {
    response?.headers.first { $0.0 == name }?.1
  }

  @Test func `a door's path answers a preflight`() {
    let answer = ask(headers: "content-type, x-authorization")
    #expect(answer?.status == 204)
    #expect(field("Access-Control-Allow-Origin", answer) == "*")
    #expect(field("Access-Control-Allow-Methods", answer) == "POST")
    #expect(field("Access-Control-Allow-Headers", answer) == "content-type, x-authorization")
    #expect(ask(["Client", "ValidateIOSReceipt"])?.status == 204)
    #expect(field("Access-Control-Allow-Headers", ask(headers: String(repeating: "x", count: 1001))) == nil)
  }

  private func ask(_ path: [String]) -> HTTPServerResponse? { ask("OPTIONS", path) }

  @Test func `nothing else is one`() {
    #expect(ask("POST") == nil)
    #expect(ask(wanted: nil) == nil)
    #expect(ask(wanted: "DELETE") == nil)
    #expect(ask(["storekit2", "purchases"]) == nil)
    #expect(ask(["nowhere"]) == nil)
  }
}
