import Domain
import Testing

struct PurchaseRouteTests {
  @Test func textAndBack() {
    for route in [
      Route(place: "app|Production"), Route(place: "app|Sandbox", endpoint: "info"),
      Route(place: "app|Sandbox", endpoint: "statuses", original: "77"), Route(place: "app|Sandbox", original: "77"),
      Route(place: "app|Sandbox", answers: #"{"a":"b|c"}"#),
      Route(place: "app|Sandbox", endpoint: "info", original: "77", answers: "|"),
    ] {
      #expect(Route(route.text) == route)
    }
    #expect(Route(place: "app|Sandbox", endpoint: "info").text == "app|Sandbox|info")
    let waiting = Route(place: "app|Sandbox", endpoint: "info", original: "77", answers: "x")
    #expect(waiting.lasting == Route(place: "app|Sandbox", original: "77"))
    let ended = Route(place: "app|Sandbox", endpoint: "info", original: "77")
    #expect(ended.lasting == ended)
    #expect(Route("") == nil && Route("app") == nil)
  }
}
