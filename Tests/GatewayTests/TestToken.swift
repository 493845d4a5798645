import Crypto
import Formats

@testable import Domain

/// Customers' tokens that a shared secret has signed, and publishers that accept them.
enum TestToken {
  static let secret = Array("0123456789abcdef0123456789abcdef".utf8)
  static let other = Array("fedcba9876543210fedcba9876543210".utf8)
  /// Of customer 42 of publisher 7.
  static let claims = #"{"publisherId":7,"customerId":42,"exp":1700000060}"#

  static func publisher(_ policy: Publisher.CustomerTokenPolicy?, _ id: PublisherId = 7) -> Publisher {
    Publisher(
      id: id, customers: .open, tokenHashes: [], customerTokens: policy, apps: [], offers: OfferCatalog([]),
      webhooks: [])
  }

  /// The part of a token that is signed.
  static func unsigned(_ claims: String = claims, header: String) -> String {
    Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
  }

  /// A token with a signature of HS256, whatever its header says.
  static func signed(_ claims: String = claims, header: String, key: [UInt8] = secret) -> String {
    let text = unsigned(claims, header: header)
    return text + "." + Base64URL.encode(HMACSHA256.authenticate(Array(text.utf8), key: key))
  }
}
