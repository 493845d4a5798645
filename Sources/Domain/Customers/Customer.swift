public import Formats

/// A publisher's user.
public struct Customer: Sendable, Equatable {
  /// The publisher's own text, see ``CustomerId``.
  public let id: CustomerId
  /// As the publisher wrote it. No two customers of a publisher have addresses that differ only in the case of ASCII
  /// letters.
  @Exact public private(set) var email: String?
  /// By which the app names the customer to Apple.
  public let appAccountToken: AppAccountToken?

  /// Creates a customer.
  public init(id: CustomerId, email: String? = nil, appAccountToken: AppAccountToken? = nil) {
    self.id = id
    self.email = email
    self.appAccountToken = appAccountToken
  }

  /// The text by which an e-mail address is found: ASCII letters are in lower case, and everything else stays.
  public static func emailKey(_ email: String) -> String {
    let upper = UInt8(ascii: "A")...UInt8(ascii: "Z")
    return String(decoding: email.utf8.map { upper.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
