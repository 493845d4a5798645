import Crypto
import Formats

/// The id of a ``RefundRequest``: `rfr_` and 32 hexadecimal digits in lower case.
///
/// It is a hash of the transaction and the first question, so that a repeated commit makes the same one.
public struct RefundRequestId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  private static let prefix = "rfr_"

  /// The id of the request that a question about a transaction begins.
  ///
  /// - Parameter requestedAt: when Apple signed the question, in milliseconds since 1970.
  init(of transaction: TransactionId, in purchase: PurchaseKey, requestedAt: Int64) {
    let parts = [String(purchase.publisherId), purchase.environment.text, transaction.text, String(requestedAt)]
    self.init(Self.prefix + Hex.encode(SHA256.hash(Array(parts.lengthPrefixed.utf8))[..<16]))
  }

  /// Whether a text can be an id.
  public static func isValid(_ text: String) -> Bool {
    text.utf8.count == prefix.utf8.count + 32 && text.utf8.starts(with: prefix.utf8)
      && text.utf8.dropFirst(prefix.utf8.count).allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
      }
  }
}
