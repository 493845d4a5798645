import Domain
import Testing

@testable import Ledger
@testable import Worker

/// Whose due rows a worker takes next.
struct PublisherTakingTests {
  private let publishers = (1...2).map { id in
    Publisher(
      id: PublisherId(id), customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([]),
      webhooks: [])
  }

  @Test func `nobody gets more than a part of the places`() {
    var taking = PublisherTaking(places: 32, part: 4)
    let turn = taking.turn(of: publishers, free: 32)
    #expect(turn?.shares.map(\.most) == [8, 8] && turn?.most == 32 && turn?.isLast == true)
    for _ in 0..<8 { taking.begin(1) }
    let other = taking.turn(of: publishers, free: 24)
    #expect(other?.shares.map(\.publisherId) == [2])
    taking.end(1)
    let next = taking.turn(of: publishers, free: 25)
    #expect(next?.shares.first { $0.publisherId == 1 }?.most == 1)
  }

  @Test func `without a free place nothing is taken`() {
    var taking = PublisherTaking(places: 1, part: 4)
    let turn = taking.turn(of: publishers, free: 0)
    #expect(turn?.most == nil)
  }
}
