import Purchases
import Testing

struct PurchaseRouteTests {
  @Test func textAndBack() {
    for route in [
      Route(place: "app|Production"), Route(place: "app|Sandbox", endpoint: "info"),
      Route(place: "app|Sandbox", endpoint: "statuses", original: "77"), Route(place: "app|Sandbox", original: "77"),
    ] {
      #expect(Route(route.text) == route)
    }
    #expect(Route(place: "app|Sandbox", endpoint: "info").text == "app|Sandbox|info")
    #expect(Route("") == nil && Route("app") == nil)
  }
}
