import Testing

@testable import Crypto

/// What a look at a password costs.
struct ScryptTests {
  /// Each step costs twice as much as the one before.
  @Test(arguments: [(10, 10), (10, 15), (14, 15), (15, 14)])
  func `a cheap hash is looked at as long as a costly one`(own: Int, most: Int) {
    let cost = Scrypt.padding(from: own, to: most).reduce(1 << own) { $0 + 1 << $1 }
    #expect(cost == 1 << max(own, most))
  }

  @Test func `the cost changes no answer`() throws {
    let hash = try Scrypt(of: "correct horse", logN: 10)
    for cost in [nil, 9, 10, 12] {
      #expect(hash.admits("correct horse", costing: cost) && !hash.admits("Correct horse", costing: cost))
    }
  }
}
