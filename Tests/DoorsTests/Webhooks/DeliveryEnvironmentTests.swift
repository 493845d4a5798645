import Domain
import Doors
import Ledger
import Testing

/// The environment of an event's purchase, in the words of each topic.
struct DeliveryEnvironmentTests {
  private func environment(_ data: String) throws -> WebhookEnvironment? {
    try Delivery(
      eventId: "e", endpointId: nil, headers: [:],
      body: Array(#"{"broadcasterId":7,"data":\#(data),"topic":"t"}"#.utf8)
    ).environment(DoorRegistry.catalog)
  }

  @Test(
    arguments: [
      (#"{"environment":"Sandbox"}"#, .sandbox), (#"{"environment":"Production"}"#, .production),
      (#"{"data":{"environment":"sandbox"}}"#, .sandbox),
      (#"{"after":{"environment":"Production"},"before":{"environment":"Production"}}"#, .production),
      (#"{"before":{"environment":"Sandbox"}}"#, .sandbox),
      (
        #"{"purchases":{"apple:a":{"sandbox":false},"apple:b":{"sandbox":true}},"notification":{"productId":"apple:b"}}"#,
        .sandbox
      ),
      (#"{"purchases":{"apple:a":{"sandbox":false}},"notification":{"productId":"apple:a"}}"#, .production),
      (#"{"purchases":{},"notification":{"productId":"apple:a"}}"#, nil), (#"{"environment":"Xcode"}"#, nil),
      (#"{"environment":5}"#, nil), (#"{"endpointId":"e"}"#, nil), ("{}", nil),
    ] as [(String, WebhookEnvironment?)])
  func `an event tells it in its vendor's words`(data: String, expected: WebhookEnvironment?) throws {
    #expect(try environment(data) == expected)
  }
}
