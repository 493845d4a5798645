import Crypto
import EventLoop

/// A bounded memory of chains that passed every check, so that Apple's two P-384 signatures are not verified again for
/// each purchase.
///
/// Only a chain that was verified in full gets in, and the key covers exactly the two certificates that were verified,
/// so that nobody without a genuine chain can add or push out entries at will.
final class VerifiedChainCache: @unchecked Sendable {
  /// What is left to know of a verified chain.
  struct Entry: Sendable {
    let leafKey: P256PublicKey
    /// The dates at which leaf, intermediate and root are all valid, in milliseconds since 1970.
    let validity: Range<Int64>
  }

  // Sendable is right: `entries` and `clock` are only touched while `lock` is held.
  private let lock = Lock()
  private var entries: [[UInt8]: (entry: Entry, lastUse: UInt64)] = [:]
  private var clock: UInt64 = 0
  private let capacity: Int

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// Returns the key for the base64 texts of a leaf and an intermediate.
  ///
  /// Strict base64 has one text per byte string, so a digest of the texts identifies the certificates as well as one of
  /// the DER would, and saves decoding them.
  static func key(leaf: String, intermediate: String) -> [UInt8] {
    // A colon cannot be in base64, so no other pair has the same text.
    SHA256.hash(Array(leaf.utf8) + [UInt8(ascii: ":")] + Array(intermediate.utf8))
  }

  var count: Int { lock.withLock { entries.count } }

  func entry(for key: [UInt8]) -> Entry? {
    lock.withLock {
      guard let found = entries[key] else { return nil }
      clock += 1
      entries[key]?.lastUse = clock
      return found.entry
    }
  }

  func insert(_ entry: Entry, for key: [UInt8]) {
    lock.withLock {
      clock += 1
      entries[key] = (entry, clock)
      // Apple has few chains at a time, so looking for the oldest one by one is rare and short.
      while entries.count > capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
        entries[oldest.key] = nil
      }
    }
  }
}
