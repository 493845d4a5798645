import Domain
import Testing

@testable import Gateway

/// The `Priority` field of a request (RFC 9218).
struct RequestPriorityTests {
  @Test(arguments: [
    ("u=7", 7), ("u=0", 0), (" u=7 ", 7), ("\tu=7\t", 7), ("i, u=7", 7), ("u=7, i", 7), ("u=7;x=1, i=?0", 7),
    ("u=1, u=7", 7), ("u=7, u=1", 1),
  ])
  func `an urgency is read`(field: String, urgency: Int) {
    #expect(RequestPriority(field).urgency == urgency)
  }

  @Test(arguments: [
    nil, "", " ", ",", ";", "u", "u=", "u=8", "u=-1", "u=10", "u=７", "u=7x", "U=7", "x=7", "\"u=7\"", "u =7", "au=7",
  ])
  func `what is no urgency counts as absent`(field: String?) {
    #expect(RequestPriority(field).urgency == 3)
    #expect(!RequestPriority(field).isBackground)
  }

  @Test func `a very long field counts as absent`() {
    #expect(RequestPriority(String(repeating: " ", count: 253) + "u=7").isBackground)
    #expect(!RequestPriority(String(repeating: " ", count: 254) + "u=7").isBackground)
  }

  @Test func `only the last urgency is that of a background task`() {
    #expect((0...7).filter { RequestPriority("u=\($0)").isBackground } == [7])
  }

  @Test func `only a publisher's own credential marks bulk`() {
    #expect(RequestPriority("u=7").lane(isByCustomer: false) == .bulk)
    #expect(RequestPriority("u=7").lane(isByCustomer: true) == .usual)
    #expect(RequestPriority("u=6").lane(isByCustomer: false) == .usual)
  }
}
