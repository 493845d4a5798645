import Domain
import Testing

@testable import Coordination

/// What a worker tells the line, by value.
struct LineAllowancesTests {
  @Test func `only publishers that may have less than others are named, the fullest first`() {
    let allowances = LineAllowances(
      all: 9, bulk: 2, others: .init(all: 9, bulk: 2),
      publishers: [
        1: .init(all: 9, bulk: 2), 2: .init(all: 3, bulk: 2), 3: .init(all: 9, bulk: 0), 4: .init(all: 0, bulk: 0),
      ])
    #expect(allowances.arguments == ["4", "0", "0", "2", "3", "2", "3", "9", "0"])
    #expect(LineAllowances(all: 5).arguments.isEmpty)
  }

  @Test func `very many publishers leave out the ones that may have most`() {
    let publishers = (1...1000).map { (PublisherId(Int64($0)), LineAllowances.Left(all: $0, bulk: 0)) }
    let named = LineAllowances(
      all: 2000, bulk: 0, others: .init(all: 2000, bulk: 0), publishers: Dictionary(uniqueKeysWithValues: publishers)
    ).arguments
    #expect(named.count == 3 * LineAllowances.mostNamed)
    #expect(named.prefix(3) == ["1", "1", "0"])
  }
}
