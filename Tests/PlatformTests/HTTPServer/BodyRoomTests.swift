import Formats
import Testing

@testable import HTTPServer

/// Who holds the room of large bodies, and who gives way.
struct BodyRoomTests {
  private typealias Sender = HTTPServer.LargeBody.Sender
  private let one = AddressGroup("192.0.2.1")
  private let two = AddressGroup("192.0.2.2")
  private let three = AddressGroup("192.0.2.3")

  private func room(_ capacity: Int, ofPublisher: Double = 1, ofAddress: Double = 1) -> BodyRoom {
    BodyRoom(
      BodyRoom.Limits(capacity: capacity, shares: .init(ofPublisher: ofPublisher, ofAddress: ofAddress)))
  }

  private func app(_ publisher: String) -> Sender { Sender(publisher: publisher, credential: .app) }
  private func backend(_ publisher: String) -> Sender { Sender(publisher: publisher, credential: .backend) }

  /// Begins a body, and takes its bytes.
  private func put(
    _ bytes: Int, _ id: Int, by sender: Sender? = nil, from address: AddressGroup, into room: inout BodyRoom
  ) -> BodyRoom.Verdict {
    room.begin(id, sender: sender, address: address)
    return room.take(bytes, for: id)
  }

  // MARK: The whole

  @Test func `a body is counted until its end`() {
    var room = room(100)
    #expect(put(60, 1, from: one, into: &room) == .taken(cutting: []))
    #expect(room.take(40, for: 1) == .taken(cutting: []))
    #expect(room.held == 100)
    room.end(1)
    room.end(1)
    #expect(room.held == 0)
    #expect(room.take(1, for: 1) == .refused(.room))
  }

  @Test func `a body that has arrived is counted until its end`() {
    var room = room(100)
    #expect(put(60, 1, by: backend("a"), from: one, into: &room) == .taken(cutting: []))
    room.arrived(1)
    room.arrived(1)
    room.arrived(2)
    #expect(room.held == 60)
    room.end(1)
    #expect(room.held == 0)
    #expect(put(100, 2, by: backend("a"), from: one, into: &room) == .taken(cutting: []))
  }

  @Test func `a body that begins anew leaves nothing of the old one`() {
    var room = room(100)
    for _ in 0..<3 { #expect(put(90, 1, by: backend("a"), from: one, into: &room) == .taken(cutting: [])) }
    #expect(room.held == 90)
  }

  @Test func `whoever holds most gives way, with the largest body first`() {
    var room = room(100)
    for (id, bytes) in [(1, 20), (2, 40), (3, 30)] {
      #expect(put(bytes, id, by: backend("greedy"), from: one, into: &room) == .taken(cutting: []))
    }
    #expect(put(10, 4, by: backend("modest"), from: two, into: &room) == .taken(cutting: []))
    #expect(room.take(10, for: 4) == .taken(cutting: [2]))
    #expect(room.held == 70)
  }

  @Test func `several bodies give way if one is not enough`() {
    var room = room(100)
    for (id, bytes) in [(1, 30), (2, 30), (3, 40)] {
      #expect(put(bytes, id, from: one, into: &room) == .taken(cutting: []))
    }
    #expect(put(50, 4, from: two, into: &room) == .taken(cutting: [3, 1]))
    #expect(room.held == 80)
  }

  @Test func `the one who holds most is refused, and takes nobody's room`() {
    var room = room(100)
    #expect(put(60, 1, from: one, into: &room) == .taken(cutting: []))
    #expect(put(40, 2, from: two, into: &room) == .taken(cutting: []))
    #expect(put(10, 3, from: one, into: &room) == .refused(.room))
    // As much as the other holds is not less.
    #expect(room.take(20, for: 2) == .refused(.room))
    #expect(room.held == 100)
  }

  @Test func `nobody gives way for a body that is refused all the same`() {
    var room = room(100)
    for id in 1...3 { #expect(put(20, id, from: one, into: &room) == .taken(cutting: [])) }
    #expect(put(40, 4, from: two, into: &room) == .taken(cutting: []))
    room.arrived(4)
    // One of the first three would go, and then the others hold less than the newcomer.
    #expect(put(50, 5, from: three, into: &room) == .refused(.room))
    #expect(room.held == 100)
    #expect(put(30, 6, from: three, into: &room) == .taken(cutting: [1, 2]))
  }

  @Test func `a body that its handler has is not taken away`() {
    var room = room(100)
    #expect(put(80, 1, from: one, into: &room) == .taken(cutting: []))
    room.arrived(1)
    #expect(put(30, 2, from: two, into: &room) == .refused(.room))
    #expect(put(20, 3, from: three, into: &room) == .taken(cutting: []))
    // The next in line holds more too.
    #expect(room.take(0, for: 2) == .taken(cutting: []))
    #expect(room.take(10, for: 2) == .taken(cutting: [3]))
  }

  // MARK: Publishers

  @Test func `a publisher's apps leave a quarter of its share to its backends`() {
    var room = room(1000, ofPublisher: 0.4)
    for id in 1...3 {
      #expect(put(100, id, by: app("a"), from: AddressGroup("192.0.2.\(id)"), into: &room) == .taken(cutting: []))
    }
    // One who holds as much as the others stays outside.
    #expect(put(100, 4, by: app("a"), from: AddressGroup("192.0.2.4"), into: &room) == .refused(.publisherShare))
    // A backend, even at an address of theirs, and another publisher's app cut nobody.
    #expect(put(100, 5, by: backend("a"), from: one, into: &room) == .taken(cutting: []))
    #expect(put(300, 6, by: app("b"), from: one, into: &room) == .taken(cutting: []))
    #expect(room.held == 700)
  }

  @Test func `within the share of its apps, the address that holds most gives way`() {
    var room = room(1000, ofPublisher: 0.4)
    for (id, address) in [(1, one), (2, one), (3, two)] {
      #expect(put(100, id, by: app("a"), from: address, into: &room) == .taken(cutting: []))
    }
    #expect(put(60, 4, by: app("a"), from: three, into: &room) == .taken(cutting: [1]))
    #expect(put(60, 5, by: app("a"), from: two, into: &room) == .refused(.publisherShare))
    #expect(room.held == 260)
  }

  @Test func `a backend that needs more than the quarter takes it from the apps`() {
    var room = room(1000, ofPublisher: 0.4)
    for (id, address) in [(1, one), (2, two), (3, three)] {
      #expect(put(100, id, by: app("a"), from: address, into: &room) == .taken(cutting: []))
    }
    #expect(put(100, 4, by: backend("a"), from: one, into: &room) == .taken(cutting: []))
    guard case .taken(let cut) = room.take(50, for: 4) else {
      Issue.record("refused")
      return
    }
    #expect(cut.count == 1 && room.held == 350)
    // What apps and backends hold together stays within the share, and no app takes a backend's part.
    #expect(put(120, 5, by: app("a"), from: one, into: &room) == .refused(.publisherShare))
    #expect(room.take(60, for: 4) == .refused(.publisherShare))
  }

  @Test func `the apps of many publishers do not keep a backend out of the whole`() {
    var room = room(1000, ofPublisher: 0.5)
    for (id, bytes) in [(1, 370), (2, 370), (3, 260)] {
      let address = AddressGroup("192.0.2.\(id)")
      #expect(put(bytes, id, by: app("\(id)"), from: address, into: &room) == .taken(cutting: []))
    }
    #expect(put(100, 4, by: backend("3"), from: one, into: &room) != .refused(.room))
    #expect(room.held <= 1000)
  }

  // MARK: Addresses

  @Test func `one party at an address has no more than its share`() {
    var room = room(100, ofAddress: 0.5)
    #expect(put(30, 1, by: backend("1"), from: one, into: &room) == .taken(cutting: []))
    #expect(put(21, 2, by: backend("1"), from: one, into: &room) == .refused(.addressShare))
    #expect(room.take(20, for: 2) == .taken(cutting: []))
    #expect(put(50, 3, by: backend("1"), from: two, into: &room) == .taken(cutting: []))
    room.end(1)
    #expect(room.take(30, for: 2) == .taken(cutting: []))
  }

  @Test func `behind one address, as of a proxy that is not listed, another sender gets in`() {
    var room = room(200, ofAddress: 0.5)
    for id in 1...2 { #expect(put(50, id, by: app("a"), from: one, into: &room) == .taken(cutting: [])) }
    #expect(put(30, 3, by: backend("a"), from: one, into: &room) == .taken(cutting: [1]))
    #expect(put(30, 4, by: app("a"), from: one, into: &room) == .refused(.addressShare))
    #expect(put(20, 5, by: app("b"), from: one, into: &room) == .taken(cutting: []))
  }

  @Test func `the networks of one customer have twice the share of an address`() {
    var room = room(100, ofAddress: 0.25)
    for id in 1...2 {
      #expect(put(25, id, from: AddressGroup("2001:db8:1:\(id)::1"), into: &room) == .taken(cutting: []))
    }
    #expect(put(25, 3, from: AddressGroup("2001:db8:1:3::1"), into: &room) == .refused(.addressShare))
    // Among themselves, the one that holds most gives way.
    #expect(put(10, 4, from: AddressGroup("2001:db8:1:4::1"), into: &room) != .refused(.addressShare))
    #expect(put(25, 5, from: AddressGroup("2001:db8:2:1::1"), into: &room) == .taken(cutting: []))
  }

  @Test func `the network that holds most gives way, not the address`() {
    var room = room(100)
    for id in 1...6 {
      #expect(put(10, id, from: AddressGroup("2001:db8:1:\(id)::1"), into: &room) == .taken(cutting: []))
    }
    #expect(put(40, 7, from: one, into: &room) == .taken(cutting: []))
    guard case .taken(let cut) = put(15, 8, from: two, into: &room) else {
      Issue.record("refused")
      return
    }
    #expect(cut.count == 2 && cut.allSatisfy { $0 < 7 })
  }

  @Test func `the whole as a share is no limit, and nothing is nothing`() {
    var shares = HTTPServer.LargeBody.Shares(ofPublisher: -1, ofAddress: 7)
    let limits = BodyRoom.Limits(capacity: 100, shares: shares)
    #expect(limits.perPublisher == 0 && limits.perApps == 0)
    #expect(limits.perAddress == .max && limits.perNetwork == .max)
    shares.ofPublisher = 1
    let whole = BodyRoom.Limits(capacity: 100, shares: shares)
    #expect(whole.perPublisher == .max && whole.perApps == 75)
  }

  // MARK: Sums

  @Test(arguments: 1...20)
  func `after any sequence, every sum is that of the bodies`(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var room = room(300, ofPublisher: 0.5, ofAddress: 0.3)
    var held: [Int: (sender: Sender?, address: AddressGroup, bytes: Int, arrived: Bool)] = [:]
    let addresses = ["192.0.2.1", "192.0.2.2", "2001:db8:1:1::1", "2001:db8:1:2::1", "2001:db8:2::1"].map {
      AddressGroup($0)
    }
    let senders = [nil, app("a"), backend("a"), app("b"), backend("b")]
    for _ in 0..<400 {
      let id = Int.random(in: 0..<20, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        room.end(id)
        held[id] = nil
      case 1:
        room.arrived(id)
        held[id]?.arrived = true
      default:
        if held[id] == nil {
          let sender = senders.randomElement(using: &random)!
          let address = addresses.randomElement(using: &random)!
          held[id] = (sender, address, 0, false)
          room.begin(id, sender: sender, address: address)
        }
        guard held[id]?.arrived == false else { continue }
        let bytes = Int.random(in: 0..<60, using: &random)
        guard case .taken(let cut) = room.take(bytes, for: id) else { continue }
        for victim in cut {
          #expect(victim != id && held[victim]?.arrived == false)
          held[victim] = nil
        }
        held[id]?.bytes += bytes
      }
      func sum(where isMeant: ((sender: Sender?, address: AddressGroup, bytes: Int, arrived: Bool)) -> Bool) -> Int {
        held.values.filter(isMeant).reduce(0) { $0 + $1.bytes }
      }
      #expect(room.held == sum { _ in true } && room.held <= 300)
      for address in addresses {
        #expect(sum { $0.address == address } <= 90)
        #expect(sum { $0.address.wide == address.wide } <= 180)
      }
      for name in ["a", "b"] {
        #expect(sum { $0.sender?.publisher == name } <= 150)
        #expect(sum { $0.sender == app(name) } <= 112)
      }
    }
    for id in held.keys { room.end(id) }
    #expect(room.held == 0)
  }
}
