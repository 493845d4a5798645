import Formats
import Testing

@testable import HTTPServer

/// How much each network holds, and who gives way at once because others hold little.
struct CrowdsTests {
  private static func network(_ number: Int) -> AddressGroup { AddressGroup("192.0.2.\(number)") }

  private func places(most: Int = 64) -> ConnectionPlaces { ConnectionPlaces(ConnectionPlaces.Limits(most: most)) }

  /// Admits a connection that must get a place.
  private func admit(
    _ places: inout ConnectionPlaces, _ address: AddressGroup, isProxy: Bool = false, at now: Duration = .zero
  ) throws -> (id: Int, cut: ConnectionPlaces.Cut?) {
    guard case .admitted(let id, let cut) = places.admit(address, isProxy: isProxy, now: now) else { throw Refused() }
    return (id, cut)
  }

  private struct Refused: Error {}

  /// Lets as many connections of each of some addresses come. The last one may stay outside: its place is kept.
  ///
  /// - Returns: the ones that have a place, in their order.
  private func fill(_ places: inout ConnectionPlaces, _ each: Int, of addresses: [AddressGroup]) -> [Int] {
    addresses.flatMap { address in
      (0..<each).compactMap { _ in
        guard case .admitted(let id, nil) = places.admit(address, isProxy: false, now: .zero) else { return nil }
        return id
      }
    }
  }

  // MARK: The order of networks

  @Test(arguments: 1...20)
  func `the largest network is first, whoever comes and goes`(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var crowds = Crowds()
    var plain: [AddressGroup: Int] = [:]
    for _ in 0..<2000 {
      let network = Self.network(Int.random(in: 0..<12, using: &random))
      if Bool.random(using: &random) {
        crowds.add(network)
        plain[network, default: 0] += 1
      } else {
        crowds.remove(network)
        plain[network] = plain[network].flatMap { $0 > 1 ? $0 - 1 : nil }
      }
      #expect(crowds.ordered.map(\.count) == plain.values.sorted(by: >))
      #expect(crowds.ordered.allSatisfy { plain[$0.network] == $0.count && crowds.count(of: $0.network) == $0.count })
      #expect(crowds.largest == plain.values.max() ?? 0)
    }
  }

  @Test func `much is more than twice as much and a few`() {
    #expect(!Crowds.isMuch(8, beside: 0) && Crowds.isMuch(9, beside: 0))
    #expect(!Crowds.isMuch(108, beside: 50) && Crowds.isMuch(109, beside: 50))
  }

  // MARK: At once

  @Test func `who holds little takes the places of those who hold most, within their grace`() throws {
    var places = places()
    let strangers = fill(&places, 16, of: (1...4).map(Self.network))
    for number in 5...35 {
      let newcomer = try admit(&places, Self.network(number), at: .milliseconds(1))
      #expect(strangers.contains(try #require(newcomer.cut).id) && newcomer.cut?.cause == .places)
    }
    // They hold eight each now, so nobody was cut more than the others. Eight are a few: the kept place is anybody's
    // now, and then a grace counts.
    #expect(places.count == 63)
    #expect(try admit(&places, Self.network(36), at: .milliseconds(1)).cut == nil)
    #expect(places.admit(Self.network(37), isProxy: false, now: .milliseconds(1)) == .refused(.places))
  }

  @Test(arguments: [["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"], ["2001:db8:1:", "2001:db8:2:"]])
  func `strangers who begin something else within each grace keep nobody out`(_ sources: [String]) throws {
    var places = places()
    let addresses = sources.flatMap { source in
      source.contains(":") ? (1...32).map { AddressGroup("\(source)\($0)::1") } : [AddressGroup(source)]
    }
    var strangers = Set(fill(&places, 64 / addresses.count, of: addresses))
    let phases: [ConnectionPlaces.Phase] = [.head, .body(received: 0), .running, .answering(bytes: 1), .idle]
    for step in 1...30 {
      let now = Duration.milliseconds(600 * step)
      for id in strangers { places.enter(phases[step % 5 == 2 ? 1 : step % 5], id, now: now) }
      #expect(places.hasPlace(at: now) == true)
      let newcomer = try admit(&places, AddressGroup("198.51.100.\(step)"), at: now)
      let cut = try #require(newcomer.cut)
      #expect(strangers.remove(cut.id) != nil, "at \(now)")
    }
    #expect(strangers.count == 33)
  }

  @Test func `a piece of a head or of a body begins no grace anew`() throws {
    var places = places(most: 2)
    let ids = try (1...2).map { try admit(&places, Self.network($0)).id }
    for id in ids {
      places.enter(.head, id, now: .milliseconds(600))
      places.enter(.body(received: 0), id, now: .milliseconds(999))
    }
    #expect(places.admit(Self.network(3), isProxy: false, now: .milliseconds(999)) == .refused(.places))
    // Whole requests do.
    places.enter(.running, ids[0], now: .milliseconds(999))
    places.enter(.answering(bytes: 1), ids[0], now: .milliseconds(999))
    places.enter(.idle, ids[0], now: .milliseconds(999))
    #expect(try admit(&places, Self.network(3), at: .seconds(1)).cut?.id == ids[1])
    #expect(places.admit(Self.network(4), isProxy: false, now: .seconds(1)) == .refused(.places))
    #expect(try admit(&places, Self.network(4), at: .milliseconds(1999)).cut?.id == ids[0])
  }

  @Test func `of a network, heads go first, and requests that run never`() throws {
    var places = places()
    let ids = fill(&places, 16, of: (1...4).map(Self.network))
    for id in ids { places.enter(.running, id, now: .zero) }
    places.enter(.answering(bytes: 1), ids[3], now: .zero)
    places.enter(.head, ids[9], now: .zero)
    for expected in [ids[9], ids[3]] {
      #expect(try admit(&places, Self.network(9)).cut?.id == expected)
    }
    #expect(places.admit(Self.network(9), isProxy: false, now: .zero) == .refused(.places))
    // The next look finds who has ended meanwhile.
    places.enter(.answering(bytes: 1), ids[40], now: .milliseconds(1))
    #expect(places.admit(Self.network(9), isProxy: false, now: .milliseconds(99)) == .refused(.places))
    #expect(try admit(&places, Self.network(9), at: .milliseconds(100)).cut?.id == ids[40])
  }

  @Test func `a network that holds much takes nobody else's place`() throws {
    var places = places()
    let quiet = try admit(&places, Self.network(9)).id
    places.enter(.idle, quiet, now: .zero)
    let crowd = try (0..<62).map { _ in try admit(&places, Self.network(1), at: .seconds(10)).id }
    #expect(places.admit(Self.network(1), isProxy: false, now: .milliseconds(10_999)) == .refused(.places))
    #expect(try admit(&places, Self.network(1), at: .seconds(11)).cut?.id == crowd[0])
    #expect(places.isProxy(quiet) == false && places.count == 63)
    places.remove(quiet)
    #expect(try admit(&places, Self.network(1), at: .seconds(11)).cut == nil)
  }

  @Test func `networks that hold about as much take each other's places by what they do`() throws {
    var places = places()
    let strangers = fill(&places, 16, of: (1...3).map(Self.network))
    let honest = try (0..<15).map { _ in try admit(&places, Self.network(9)).id }
    for id in honest { places.enter(.idle, id, now: .seconds(5)) }
    #expect(places.admit(Self.network(9), isProxy: false, now: .milliseconds(999)) == .refused(.places))
    #expect(try admit(&places, Self.network(9), at: .seconds(6)).cut?.id == strangers[0])
  }

  // MARK: While all requests run

  @Test func `the last places are for networks that hold none`() throws {
    var places = places(most: 128)
    let ids = try (0..<126).map { _ in try admit(&places, Self.network(1)).id }
    for id in ids { places.enter(.running, id, now: .zero) }
    #expect(places.admit(Self.network(1), isProxy: false, now: .seconds(9)) == .refused(.places))
    #expect(places.hasPlace(at: .seconds(9)) == true)
    let first = try admit(&places, Self.network(2), at: .seconds(9))
    places.enter(.running, first.id, now: .seconds(9))
    #expect(first.cut == nil)
    #expect(places.admit(Self.network(2), isProxy: false, now: .seconds(9)) == .refused(.places))
    let second = try admit(&places, Self.network(3), at: .seconds(9))
    #expect(second.cut == nil && places.count == 128)
    #expect(places.admit(Self.network(4), isProxy: false, now: .seconds(9)) == .refused(.places))
  }

  @Test func `without a network that holds more than a few, all places are anybody's`() {
    var places = places()
    let ids = fill(&places, 8, of: (1...8).map(Self.network))
    #expect(places.count == 64 && ids.allSatisfy { !places.endsBehindAnswer($0) })
  }

  @Test func `while places are out, the connections of those who hold most end behind their answers`() throws {
    var places = places()
    let crowd = try (0..<50).map { _ in try admit(&places, Self.network(1)).id }
    let middle = try (0..<12).map { _ in try admit(&places, Self.network(2)).id }
    for id in crowd + middle { places.enter(.running, id, now: .zero) }
    #expect(!places.endsBehindAnswer(crowd[0]))
    let last = try admit(&places, Self.network(3)).id
    #expect(crowd.allSatisfy { places.endsBehindAnswer($0) })
    #expect(middle.allSatisfy { !places.endsBehindAnswer($0) })
    #expect(!places.endsBehindAnswer(last) && !places.endsBehindAnswer(99))
    places.remove(crowd[0])
    #expect(!places.endsBehindAnswer(crowd[1]))
  }

  @Test func `behind a listed proxy it counts which clients hold most`() throws {
    var places = places()
    let proxy = AddressGroup("10.0.0.1")
    let ids = try (0..<64).map { _ in try admit(&places, proxy, isProxy: true).id }
    // The proxy is no crowd of its own.
    #expect(places.admit(proxy, isProxy: true, now: .zero) == .refused(.places))
    for (place, id) in ids.enumerated() {
      _ = places.begin(id, of: Self.network(place < 60 ? 1 : 2 + place))
      places.enter(.body(received: 0), id, now: .zero)
    }
    let cut = try #require(try admit(&places, proxy, isProxy: true).cut)
    #expect(ids.prefix(60).contains(cut.id))
    // A request that ended holds nothing any more.
    for id in ids.prefix(60) { places.enter(.idle, id, now: .zero) }
    #expect(places.admit(proxy, isProxy: true, now: .zero) == .refused(.places))
  }
}
