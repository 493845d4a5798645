import Domain
import Testing

@testable import Worker

/// Whose due rows a worker takes next.
struct PublisherTakingTests {
  private let publishers = (1...2).map { id in
    Publisher(
      id: id, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([]), webhooks: [])
  }

  @Test func `nobody gets more than a part of the places`() throws {
    var taking = PublisherTaking(places: 32, part: 4)
    let turn = try #require(taking.turn(of: publishers, free: 32))
    #expect(turn.shares.map(\.most) == [8, 8] && turn.most == 32 && turn.isLast)
    for _ in 0..<8 { taking.begin(1) }
    #expect(taking.turn(of: publishers, free: 24)?.shares.map(\.publisherId) == [2])
    taking.end(1)
    let next = try #require(taking.turn(of: publishers, free: 25))
    #expect(next.shares.first { $0.publisherId == 1 }?.most == 1)
  }

  @Test func `without a free place nothing is taken`() {
    var taking = PublisherTaking(places: 1, part: 4)
    #expect(taking.turn(of: publishers, free: 0)?.most == nil)
  }
}
