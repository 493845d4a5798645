import Crypto

/// Orders transactions that have no row which both could lock.
enum AdvisoryLock {
  /// The key that stands for a text in `pg_advisory_xact_lock`. Two texts may share one, and then wait for each other.
  static func key(_ text: String) -> Int64 {
    SHA256.hash(Array(text.utf8)).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
  }
}
