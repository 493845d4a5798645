import Domain
import Testing

struct PurchaseRouteTests {
  @Test func textAndBack() {
    for route in [
      AppleRoute(place: "app|Production"), AppleRoute(place: "app|Sandbox", endpoint: "info"),
      AppleRoute(place: "app|Sandbox", endpoint: "statuses", original: "77"),
      AppleRoute(place: "app|Sandbox", original: "77"),
      AppleRoute(place: "app|Sandbox", answers: #"{"a":"b|c"}"#),
      AppleRoute(place: "app|Sandbox", endpoint: "info", original: "77", answers: "|"),
    ] {
      #expect(AppleRoute(route.text) == route)
    }
    #expect(AppleRoute(place: "app|Sandbox", endpoint: "info").text == "app|Sandbox|info")
    let waiting = AppleRoute(place: "app|Sandbox", endpoint: "info", original: "77", answers: "x")
    #expect(waiting.lasting == AppleRoute(place: "app|Sandbox", original: "77"))
    let ended = AppleRoute(place: "app|Sandbox", endpoint: "info", original: "77")
    #expect(ended.lasting == ended)
    #expect(AppleRoute("") == nil && AppleRoute("app") == nil)
  }
}
