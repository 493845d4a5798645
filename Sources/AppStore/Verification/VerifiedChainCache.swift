import Crypto
import EventLoop
import Glibc

/// A bounded memory of chains that passed every check, so that Apple's two P-384 signatures are not verified again for
/// each purchase.
///
/// Only a chain that was verified in full gets in. The key covers exactly the two certificates that were verified. So a
/// sender without a genuine chain can neither add nor push out entries.
///
/// Beside the chain, the cache remembers the header that carried it, as it was signed. Apple writes the same header
/// every time, so a text with a known header needs no decoding and hashing of it.
final class VerifiedChainCache: @unchecked Sendable {
  /// The facts about a verified chain that later checks need.
  struct Entry: Sendable {
    let leafKey: P256PublicKey
    /// The dates at which leaf, intermediate and root are all valid, in milliseconds since 1970.
    let validity: Range<Int64>
  }

  /// A header as it was signed.
  struct Header: Sendable {
    let text: [UInt8]
    /// The same without the point behind it. All evidence with this header shares these 4 KB.
    let withoutPoint: [UInt8]
    /// The state of SHA-256 after the header.
    let midstate: SHA256Midstate
    let entry: Entry
  }

  // Sendable is right: code touches everything that changes only while it holds `lock`.
  private let lock = Lock()
  private var entries: [[UInt8]: (entry: Entry, lastUse: UInt64)] = [:]
  /// Most recently used first.
  private var headers: [Header] = []
  private var clock: UInt64 = 0
  private let capacity: Int

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// Returns the key for the base64 texts of a leaf and an intermediate.
  ///
  /// Strict base64 has one text per byte string. So a digest of the texts identifies the certificates as well as a
  /// digest of the DER, and the caller need not decode them.
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

  /// Returns the entry of a header, if it is known.
  func header(_ text: ArraySlice<UInt8>) -> Header? {
    lock.withLock {
      guard let index = headers.firstIndex(where: { Self.areEqual($0.text, text) }) else { return nil }
      let found = headers[index]
      if index > 0 { headers.insert(headers.remove(at: index), at: 0) }
      return found
    }
  }

  /// Remembers a chain, and the header in which it was found, after both were verified.
  func insert(_ entry: Entry, for key: [UInt8], header text: ArraySlice<UInt8>) {
    let header = Header(
      text: Array(text), withoutPoint: Array(text.dropLast()), midstate: SHA256Midstate(text), entry: entry)
    lock.withLock {
      clock += 1
      entries[key] = (entry, clock)
      // Apple has few chains at a time, so this search for the oldest entry is rare and short.
      while entries.count > capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
        entries[oldest.key] = nil
      }
      guard capacity > 0 else { return }
      headers.removeAll { Self.areEqual($0.text, text) }
      headers.insert(header, at: 0)
      if headers.count > capacity { headers.removeLast() }
    }
  }

  private static func areEqual(_ one: [UInt8], _ other: ArraySlice<UInt8>) -> Bool {
    guard one.count == other.count else { return false }
    return one.withUnsafeBytes { one in
      other.withUnsafeBytes { memcmp(one.baseAddress ?? $0.baseAddress!, $0.baseAddress!, one.count) == 0 }
    }
  }
}
