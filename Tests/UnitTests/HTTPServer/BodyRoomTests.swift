import Testing

@testable import HTTPServer

/// Who holds the room of large bodies, and who gives way.
struct BodyRoomTests {
  private let one = AddressGroup("192.0.2.1")
  private let two = AddressGroup("192.0.2.2")
  private let three = AddressGroup("192.0.2.3")

  private func room(_ capacity: Int, ofHolder: Double = 1, ofAddress: Double = 1) -> BodyRoom {
    var shares = HTTPServer.LargeBody.Shares()
    (shares.ofHolder, shares.ofAddress) = (ofHolder, ofAddress)
    return BodyRoom(BodyRoom.Limits(capacity: capacity, shares: shares))
  }

  @Test func `a body is counted until its end`() {
    var room = room(100)
    room.begin(1, holder: nil, address: one)
    #expect(room.take(60, for: 1) == .taken(cutting: []))
    #expect(room.take(40, for: 1) == .taken(cutting: []))
    #expect(room.held == 100)
    room.end(1)
    room.end(1)
    #expect(room.held == 0)
    #expect(room.take(1, for: 1) == .refused(.room))
  }

  @Test func `a body that begins anew leaves nothing of the old one`() {
    var room = room(100)
    for _ in 0..<3 {
      room.begin(1, holder: "a", address: one)
      #expect(room.take(90, for: 1) == .taken(cutting: []))
    }
    #expect(room.held == 90)
  }

  @Test func `nobody has more than the share of an address`() {
    var room = room(100, ofAddress: 0.5)
    for id in 1...3 { room.begin(id, holder: "\(id)", address: id < 3 ? one : two) }
    #expect(room.take(30, for: 1) == .taken(cutting: []))
    #expect(room.take(21, for: 2) == .refused(.addressShare))
    #expect(room.take(20, for: 2) == .taken(cutting: []))
    #expect(room.take(50, for: 3) == .taken(cutting: []))
    room.end(1)
    #expect(room.take(30, for: 2) == .taken(cutting: []))
  }

  @Test func `nobody has more than the share of a holder`() {
    var room = room(100, ofHolder: 0.5)
    for id in 1...3 { room.begin(id, holder: id < 3 ? "a" : "b", address: AddressGroup("192.0.2.\(id)")) }
    #expect(room.take(30, for: 1) == .taken(cutting: []))
    #expect(room.take(21, for: 2) == .refused(.holderShare))
    #expect(room.take(50, for: 3) == .taken(cutting: []))
    room.end(1)
    #expect(room.take(50, for: 2) == .taken(cutting: []))
  }

  @Test func `whoever holds most gives way, with the largest body first`() {
    var room = room(100)
    for (id, bytes) in [(1, 20), (2, 40), (3, 30)] {
      room.begin(id, holder: "greedy", address: one)
      #expect(room.take(bytes, for: id) == .taken(cutting: []))
    }
    room.begin(4, holder: "modest", address: two)
    #expect(room.take(10, for: 4) == .taken(cutting: []))
    #expect(room.take(10, for: 4) == .taken(cutting: [2]))
    #expect(room.held == 70)
  }

  @Test func `several bodies give way if one is not enough`() {
    var room = room(100)
    for (id, bytes) in [(1, 30), (2, 30), (3, 40)] {
      room.begin(id, holder: nil, address: one)
      #expect(room.take(bytes, for: id) == .taken(cutting: []))
    }
    room.begin(4, holder: nil, address: two)
    #expect(room.take(50, for: 4) == .taken(cutting: [3, 1]))
    #expect(room.held == 80)
  }

  @Test func `the one who holds most is refused, and takes nobody's room`() {
    var room = room(100)
    room.begin(1, holder: nil, address: one)
    room.begin(2, holder: nil, address: two)
    room.begin(3, holder: nil, address: one)
    #expect(room.take(60, for: 1) == .taken(cutting: []))
    #expect(room.take(40, for: 2) == .taken(cutting: []))
    #expect(room.take(10, for: 3) == .refused(.room))
    // As much as the other holds is not less.
    #expect(room.take(20, for: 2) == .refused(.room))
    #expect(room.held == 100)
  }

  @Test func `a body that its handler has is not taken away`() {
    var room = room(100)
    room.begin(1, holder: nil, address: one)
    #expect(room.take(80, for: 1) == .taken(cutting: []))
    room.arrived(1)
    room.begin(2, holder: nil, address: two)
    #expect(room.take(30, for: 2) == .refused(.room))
    room.begin(3, holder: nil, address: three)
    #expect(room.take(20, for: 3) == .taken(cutting: []))
    // The next in line holds more too.
    #expect(room.take(0, for: 2) == .taken(cutting: []))
    #expect(room.take(10, for: 2) == .taken(cutting: [3]))
  }

  @Test func `the whole as a share is no limit, and nothing is nothing`() {
    var shares = HTTPServer.LargeBody.Shares()
    (shares.ofHolder, shares.ofAddress) = (-1, 7)
    let limits = BodyRoom.Limits(capacity: 100, shares: shares)
    #expect(limits.perHolder == 0 && limits.perAddress == .max)
  }
}
