import Crypto

/// All publishers of one folder, as of one reading.
public struct Publishers: Sendable {
  /// In the order of their ids.
  public let all: [Publisher]
  private let byId: [Int64: Publisher]
  /// The hashes of all tokens, one after the other, and the owner of each.
  private let tokenHashes: [UInt8]
  private let holders: [Publisher]

  /// Creates the set; ids are unique, and the hashes of tokens have ``SHA256/size`` bytes.
  public init(_ all: [Publisher]) {
    precondition(all.allSatisfy { $0.tokenHashes.allSatisfy { $0.count == SHA256.size } })
    let all = all.sorted { $0.id < $1.id }
    self.all = all
    byId = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
    tokenHashes = all.flatMap { $0.tokenHashes.joined() }
    holders = all.flatMap { publisher in publisher.tokenHashes.map { _ in publisher } }
  }

  /// Returns the publisher with an id.
  public subscript(id: Int64) -> Publisher? { byId[id] }

  /// Returns the publisher that has a token with this SHA-256.
  ///
  /// It compares the hash with all of them, in constant time and without an early end. So the time tells nothing about
  /// a token that is nearly right.
  ///
  /// - Precondition: the hash has ``SHA256/size`` bytes.
  public func holder(ofTokenHash hash: [UInt8]) -> Publisher? {
    precondition(hash.count == SHA256.size)
    var found: Int?
    tokenHashes.withUnsafeBytes { known in
      hash.withUnsafeBytes { hash in
        for index in holders.indices {
          let one = UnsafeRawBufferPointer(rebasing: known[index * SHA256.size..<(index + 1) * SHA256.size])
          if constantTimeEqual(hash, one) { found = index }
        }
      }
    }
    return found.map { holders[$0] }
  }
}
