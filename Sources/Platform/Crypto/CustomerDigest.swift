/// Stands for a customer where the id must not be: in log lines, and in the rows that an erasure leaves.
///
/// It is the same in every process. It has no key: support computes it in a shell, and whoever can guess the id can,
/// too. The ledger keeps it, so it never changes.
public enum CustomerDigest {
  /// The SHA-256 of the publisher's id, a colon and the customer's id.
  public static func sha256(of customerId: String, of publisherId: Int64) -> [UInt8] {
    SHA256.hash(Array("\(publisherId):\(customerId)".utf8))
  }

  /// The first 32 hexadecimal digits of it.
  public static func short(of customerId: String, of publisherId: Int64) -> String {
    Hex.encode(sha256(of: customerId, of: publisherId)[..<16])
  }
}
