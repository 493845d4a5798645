import Testing

@testable import Simulator

/// The order ids of the simulator, and the calls about them.
struct StoreOrderTests {
  @Test(arguments: [
    ("M100000000000001", ["100000000000001"]), ("M1001M1102", ["1001", "1102"]), ("M1", ["1"]),
    ("M01", ["01"]), ("", nil), ("M", nil), ("M1M", nil), ("MM1", nil), ("1", nil), ("1M1", nil), ("MK5TTTVWJH", nil),
    ("m1", nil), ("M123456789012345678901", nil),
  ])
  func `an order id has its transactions`(id: String, transactions: [String]?) {
    #expect(StoreOrder(id)?.transactionIds == transactions)
  }

  @Test func `everybody knows the order of a transaction`() {
    #expect(StoreOrder(StoreOrder.id(of: "1001"))?.transactionIds == ["1001"])
  }

  private func call(_ path: String) -> StoreCall? {
    if case .store(let call) = StoreRoute(path: path) { call } else { nil }
  }

  @Test func `the call is in production only, and strict`() throws {
    let good = try #require(call("/production/inApps/v1/lookup/MK5TTTVWJH"))
    #expect(good.endpoint == .orderLookup && good.endpoint.method == "GET" && good.failure == nil)
    #expect(good.transactionId == "MK5TTTVWJH")
    for path in ["sandbox/inApps/v1/lookup/M1", "production/inApps/v2/lookup/M1", "production/inApps/v1/lookup/M1/x"] {
      #expect(call("/" + path) == nil, "\(path)")
    }
    let wrong = ["", "mk5", "M1-2", "M1?a=b", "M%31", String(repeating: "M", count: 65)]
    for id in wrong { #expect(call("/production/inApps/v1/lookup/" + id)?.failure == .badRequest, "\(id)") }
  }

  @Test func `a signed answer is not made ahead`() {
    #expect(StoreRoute(path: "/simulator/signed/production/orderLookup/com.example/100/3") == .unknown)
  }
}
