import Crypto
import Domain

extension ImportRow {
  /// 128 bits that stand for customer and transaction.
  var hash: String {
    let name = "\(customerId.text.utf8.count) \(customerId.text) \(transactionId.text)"
    return Hex.encode(SHA256.hash(Array(name.utf8))[..<16])
  }
}
