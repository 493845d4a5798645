import Testing

@testable import HTTPServer

/// Who gets a place, how long it lasts, and who gives way.
struct ConnectionPlacesTests {
  private typealias Cut = ConnectionPlaces.Cut
  private let one = AddressGroup("192.0.2.1")
  private let two = AddressGroup("192.0.2.2")
  private let proxy = AddressGroup("10.0.0.1")

  private func places(most: Int = 2, perAddress: Int = .max) -> ConnectionPlaces {
    ConnectionPlaces(ConnectionPlaces.Limits(most: most, perAddress: perAddress))
  }

  /// Admits a connection that must get a place.
  private func admit(
    _ places: inout ConnectionPlaces, _ address: AddressGroup, isProxy: Bool = false, at second: Int = 0
  ) throws -> (id: Int, cut: Cut?) {
    let admission = places.admit(address, isProxy: isProxy, now: .seconds(second))
    guard case .admitted(let id, let cut) = admission else { throw Refused(admission: admission) }
    return (id, cut)
  }

  private struct Refused: Error { let admission: ConnectionPlaces.Admission }

  // MARK: Places

  @Test func `a free place is taken, and a place that is left is free`() throws {
    var places = places()
    let first = try admit(&places, one)
    let second = try admit(&places, two)
    #expect(first.cut == nil && second.cut == nil && places.count == 2)
    places.remove(first.id)
    places.remove(first.id)
    #expect(try admit(&places, one).cut == nil)
  }

  @Test func `nobody gives way within the grace`() throws {
    var places = places()
    for _ in 0..<2 { _ = try admit(&places, one) }
    #expect(places.hasPlace(at: .milliseconds(999)) == false)
    #expect(places.admit(two, isProxy: false, now: .milliseconds(999)) == .refused(.places))
    #expect(places.hasPlace(at: .seconds(1)) == true)
  }

  @Test func `the oldest head gives way first, then the oldest silent one, a body and a reader`() throws {
    var places = places(most: 6)
    let ids = try (0..<6).map { try admit(&places, one, at: $0).id }
    places.enter(.answering(bytes: 1), ids[0], now: .seconds(0))
    places.enter(.body(received: 0), ids[1], now: .seconds(1))
    places.enter(.idle, ids[2], now: .seconds(3))
    places.enter(.idle, ids[3], now: .seconds(2))
    for expected in [ids[4], ids[5], ids[3], ids[2], ids[1], ids[0]] {
      let newcomer = try admit(&places, two, at: 10)
      #expect(newcomer.cut == Cut(id: expected, cause: .places))
      places.enter(.running, newcomer.id, now: .seconds(10))
    }
    // All of them run now.
    #expect(places.hasPlace(at: .seconds(1000)) == false)
    #expect(places.admit(two, isProxy: false, now: .seconds(1000)) == .refused(.places))
  }

  @Test func `a proxy's head gives way behind a stranger's`() throws {
    var places = places()
    let listed = try admit(&places, proxy, isProxy: true)
    let stranger = try admit(&places, one, at: 5)
    #expect(try admit(&places, two, at: 8).cut?.id == stranger.id)
    #expect(try admit(&places, two, at: 8).cut?.id == listed.id)
  }

  @Test func `of a kind, the network that has most of the places gives way`() throws {
    var places = places(most: 6)
    _ = try admit(&places, one)
    let crowd = try (1...3).map { try admit(&places, AddressGroup("2001:db8:1:\($0)::1"), at: $0).id }
    for number in 1...2 { _ = try admit(&places, two, at: number) }
    // Crowds count as they were when the order was made, although `one` has as many after two newcomers.
    for id in crowd { #expect(try admit(&places, one, at: 10).cut == Cut(id: id, cause: .places)) }
  }

  // MARK: Shares

  @Test func `an address at its share makes room for itself or stays outside`() throws {
    var places = places(most: 10, perAddress: 2)
    let first = try admit(&places, one)
    let second = try admit(&places, one, at: 1)
    _ = try admit(&places, two)
    #expect(places.admit(one, isProxy: false, now: .milliseconds(500)) == .refused(.addressShare))
    let third = try admit(&places, one, at: 5)
    #expect(third.cut == Cut(id: first.id, cause: .addressShare))
    for id in [second.id, third.id] { places.enter(.running, id, now: .seconds(5)) }
    #expect(places.admit(one, isProxy: false, now: .seconds(50)) == .refused(.addressShare))
    places.remove(second.id)
    #expect(try admit(&places, one, at: 50).cut == nil)
  }

  @Test func `a listed proxy has no share, but the clients that it names have`() throws {
    var places = places(most: 10, perAddress: 2)
    let ids = try (0..<4).map { _ in try admit(&places, proxy, isProxy: true).id }
    #expect(places.isProxy(ids[0]) && !places.isProxy(99))
    #expect(places.begin(ids[0], of: one) == true)
    #expect(places.begin(ids[1], of: one) == true)
    #expect(places.begin(ids[2], of: one) == false)
    #expect(places.begin(ids[2], of: two) == true)
    // The next requests of the client: one after an answer, one after a connection is gone.
    places.enter(.idle, ids[0], now: .zero)
    #expect(places.begin(ids[0], of: one) == true)
    #expect(places.begin(ids[3], of: one) == false)
    places.remove(ids[1])
    #expect(places.begin(ids[3], of: one) == true)
    #expect(places.begin(99, of: one) == true)
  }

  @Test func `the networks of one customer have twice the share of an address`() throws {
    var places = places(most: 100, perAddress: 2)
    let ids = try (1...4).map { try admit(&places, AddressGroup("2001:db8:1:\($0)::1"), at: $0).id }
    let fifth = try admit(&places, AddressGroup("2001:db8:1:5::1"), at: 10)
    #expect(fifth.cut == Cut(id: ids[0], cause: .addressShare))
    for id in ids.dropFirst() { places.enter(.running, id, now: .seconds(10)) }
    let sixth = AddressGroup("2001:db8:1:6::1")
    #expect(places.admit(sixth, isProxy: false, now: .milliseconds(10_500)) == .refused(.addressShare))
    #expect(try admit(&places, AddressGroup("2001:db8:2:1::1"), at: 11).cut == nil)
    #expect(try admit(&places, one, at: 11).cut == nil)
    #expect(try admit(&places, sixth, at: 11).cut == Cut(id: fifth.id, cause: .addressShare))
    #expect(places.count == 6)
  }

  @Test func `behind a listed proxy, a network has twice the share too`() throws {
    var places = places(most: 10, perAddress: 1)
    let ids = try (0..<4).map { _ in try admit(&places, proxy, isProxy: true).id }
    #expect(places.begin(ids[0], of: AddressGroup("2001:db8:1:1::1")) == true)
    #expect(places.begin(ids[1], of: AddressGroup("2001:db8:1:1::2")) == false)
    #expect(places.begin(ids[1], of: AddressGroup("2001:db8:1:2::1")) == true)
    #expect(places.begin(ids[2], of: AddressGroup("2001:db8:1:3::1")) == false)
    #expect(places.begin(ids[2], of: AddressGroup("2001:db8:2:1::1")) == true)
    places.enter(.idle, ids[0], now: .zero)
    #expect(places.begin(ids[3], of: AddressGroup("2001:db8:1:3::1")) == true)
  }

  @Test func `twice a share without a limit is none`() {
    #expect(ConnectionPlaces.Limits(perAddress: .max).perNetwork == .max)
    #expect(ConnectionPlaces.Limits(perAddress: 1024).perNetwork == 2048)
  }

  // MARK: Deadlines

  /// The cause for which a connection is overdue at a time after it has entered a phase.
  private func cause(_ phase: ConnectionPlaces.Phase, after seconds: Double) throws -> HTTPServer.CutCause? {
    var places = places()
    let id = try admit(&places, one).id
    places.enter(phase, id, now: .seconds(100))
    let cuts = places.overdue(at: .seconds(100) + .seconds(seconds))
    #expect(cuts.allSatisfy { $0.id == id })
    return cuts.first?.cause
  }

  @Test func `each phase has its time`() throws {
    #expect(try cause(.head, after: 10) == nil)
    #expect(try cause(.head, after: 10.1) == .slowHead)
    #expect(try cause(.idle, after: 40) == nil)
    #expect(try cause(.idle, after: 40.1) == .slowHead)
    #expect(try cause(.running, after: 1e6) == nil)
    #expect(try cause(.answering(bytes: 0), after: 30) == nil)
    #expect(try cause(.answering(bytes: 0), after: 30.1) == .slowReader)
    #expect(try cause(.answering(bytes: 10_240), after: 40) == nil)
    #expect(try cause(.answering(bytes: 10_240), after: 40.1) == .slowReader)
  }

  @Test func `a body has a least pace, and an end`() throws {
    #expect(try cause(.body(received: 0), after: 10) == nil)
    #expect(try cause(.body(received: 0), after: 10.1) == .slowBody)
    #expect(try cause(.body(received: 20_480), after: 30) == nil)
    #expect(try cause(.body(received: 20_480), after: 30.1) == .slowBody)
    #expect(try cause(.body(received: 1 << 30), after: 60) == nil)
    #expect(try cause(.body(received: 1 << 30), after: 60.1) == .slowBody)
    #expect(try cause(.body(received: .max), after: 1) == nil)
  }

  @Test func `bytes count for a body only`() throws {
    var places = places()
    let id = try admit(&places, one).id
    places.receive(1 << 20, id)
    #expect(places.overdue(at: .seconds(11)) == [Cut(id: id, cause: .slowHead)])
    places.enter(.body(received: 0), id, now: .zero)
    places.receive(10_240, id)
    places.receive(10_240, 99)
    #expect(places.overdue(at: .seconds(20)).isEmpty)
    #expect(places.overdue(at: .seconds(21)) == [Cut(id: id, cause: .slowBody)])
  }
}
