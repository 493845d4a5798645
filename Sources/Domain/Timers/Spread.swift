import Crypto
import Formats

/// Spreads what many things would do at one time.
enum Spread {
  /// Returns a part of a time, always the same one for a name. Another machine gets the same.
  ///
  /// - Parameters:
  ///   - time: 0 to some years, in milliseconds.
  ///   - name: the parts of the thing's name.
  static func share(of time: Int64, for name: [String]) -> Int64 {
    let share = SHA256.hash(Array(name.lengthPrefixed.utf8)).prefix(4).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    // 32 bits of the hash, and 31 of the time.
    return (Int64(share) * time) >> 32
  }
}
