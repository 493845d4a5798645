import Crypto
import Ledger
import Testing

/// Which keys a process would lose with a new file, as far as secrets need them.
struct SecretKeysInUseTests {
  private let inUse = SecretKeysInUse([
    .init(keyId: "a", endpoints: 1), .init(keyId: "b", endpoints: 2), .init(keyId: "lost", endpoints: 3),
    .init(keyId: nil, endpoints: 4),
  ])

  /// - Parameter keys: an id, and perhaps behind it a byte of the key.
  private func keys(_ keys: String...) throws -> SealingKeys {
    try SealingKeys(
      keys.map { text in
        (id: String(text.prefix { $0 != ":" }), key: SHA256.hash(Array(text.utf8)))
      })
  }

  @Test func `a dropped key counts if secrets need it`() throws {
    #expect(try inUse.lost(from: keys("a", "b"), to: keys("b", "a")) == [])
    #expect(try inUse.lost(from: keys("a", "b"), to: keys("c", "b")) == ["a"])
    #expect(try inUse.lost(from: keys("a", "b"), to: SealingKeys()) == ["a", "b"])
    #expect(try inUse.lost(from: keys("a", "c"), to: keys("a")) == [], "nothing needs c")
  }

  @Test func `a key that was missing before is no loss`() throws {
    #expect(try inUse.lost(from: keys("b"), to: keys("b", "c")) == [])
    #expect(try inUse.lost(from: SealingKeys(), to: keys("c")) == [])
  }

  @Test func `another key under the same id is a loss`() throws {
    #expect(try inUse.lost(from: keys("a", "b"), to: keys("a:2", "b")) == ["a"])
  }
}
