import Domain
import Ledger
import Testing

struct KeptNotificationTests {
  @Test func `the posted body is kept only where it is unusual`() {
    func kept(_ body: String?, to forwards: [EndpointId] = ["fwd_1"]) -> KeptNotification {
      KeptNotification(
        publisherId: 1, uuid: "a", type: "TEST", signedDate: 0, source: .apple, body: Array("e.y.J".utf8)
      )
      .forwarded(to: forwards, as: body.map { Array($0.utf8) })
    }
    #expect(kept(#"{"signedPayload":"e.y.J"}"#).posted == nil)
    #expect(kept(nil).posted == nil)
    #expect(kept(#"{"signedPayload": "e.y.J"}"#, to: []).posted == nil)
    #expect(kept(#"{"signedPayload": "e.y.J"}"#).posted == Array(#"{"signedPayload": "e.y.J"}"#.utf8))
  }
}
