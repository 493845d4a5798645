public import Formats

extension Publisher {
  /// How a customer's bearer token must be signed, what it must say, and where it names the customer.
  public struct CustomerTokenPolicy: Sendable {
    /// The keys of the publisher's file.
    public let keys: [CustomerTokenKey]
    /// Where the gateway fetches further keys; `nil` without such a place.
    public let keySet: KeySetAddress?
    public let customerClaim: String
    /// The only `iss`; `nil` accepts a token with any and with none.
    public let issuer: TokenIssuer?
    /// A token must name one of them in `aud`; if empty, `aud` does not count.
    public let audiences: [TokenAudience]
    /// The most seconds from `iat` to `exp`; `nil` does not limit them, and asks for no `iat`.
    public let maxLifetime: Int64?
    /// The clocks of other parties may be wrong by this many seconds.
    public let leeway: Int64

    /// The usual leeway.
    public static let defaultLeeway: Int64 = 30

    /// Creates a policy.
    public init(
      keys: [CustomerTokenKey], keySet: KeySetAddress? = nil, customerClaim: String, issuer: TokenIssuer? = nil,
      audiences: [TokenAudience] = [], maxLifetime: Int64? = nil, leeway: Int64 = defaultLeeway
    ) {
      self.keys = keys
      self.keySet = keySet
      self.customerClaim = customerClaim
      self.issuer = issuer
      self.audiences = audiences
      self.maxLifetime = maxLifetime
      self.leeway = leeway
    }

    /// Creates a policy with one key that has no id.
    public init(key: Key, customerClaim: String) {
      self.init(keys: [CustomerTokenKey(key)], customerClaim: customerClaim)
    }

    public typealias Key = CustomerTokenKey.Key

    /// Whether a token for these audiences is for this publisher.
    public func admits(audiences named: [TokenAudience]) -> Bool {
      audiences.isEmpty || audiences.contains(where: named.contains)
    }
  }
}

/// Where a gateway fetches a set of keys, and whom it trusts there.
public struct KeySetAddress: Sendable, Equatable {
  /// An absolute URL.
  @Exact public private(set) var url: String
  /// A PEM file of certificate authorities instead of the system's.
  @Exact public private(set) var caFile: String?

  /// Creates an address.
  public init(url: String, caFile: String? = nil) {
    self.url = url
    self.caFile = caFile
  }
}
