import Crypto

/// Finds the holder of a secret by the SHA-256 of it.
struct CredentialIndex<Holder: Sendable>: Sendable {
  /// The hashes of all secrets, one after the other, and the holder of each.
  private var hashes: [UInt8] = []
  private var holders: [Holder] = []

  /// Creates an index; each hash has ``SHA256/size`` bytes.
  init(_ credentials: some Sequence<(hash: [UInt8], holder: Holder)>) {
    for (hash, holder) in credentials {
      precondition(hash.count == SHA256.size)
      hashes += hash
      holders.append(holder)
    }
  }

  /// Returns the holder of a secret.
  ///
  /// It compares the hash with all of them, in constant time and without an early end. So the time tells nothing about
  /// a secret that is nearly right.
  ///
  /// - Precondition: the hash has ``SHA256/size`` bytes.
  func holder(of hash: [UInt8]) -> Holder? {
    precondition(hash.count == SHA256.size)
    var found: Int?
    hashes.withUnsafeBytes { known in
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
