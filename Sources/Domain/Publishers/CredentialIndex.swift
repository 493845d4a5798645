import Crypto

/// Finds the holder of a secret by the SHA-256 of it.
///
/// The time does not grow with the number of secrets. It may tell something about the hash of a secret, and never about
/// the secret: a caller who comes near a secret does not come near its hash.
struct CredentialIndex<Holder: Sendable>: Sendable {
  private var holders: [[UInt8]: Holder] = [:]

  /// Creates an index; each hash has ``SHA256/size`` bytes.
  init(_ credentials: some Sequence<(hash: [UInt8], holder: Holder)>) {
    for (hash, holder) in credentials {
      precondition(hash.count == SHA256.size)
      holders[hash] = holder
    }
  }

  /// Returns the holder of a secret.
  ///
  /// - Precondition: the hash has ``SHA256/size`` bytes.
  func holder(of hash: [UInt8]) -> Holder? {
    precondition(hash.count == SHA256.size)
    return holders[hash]
  }
}
