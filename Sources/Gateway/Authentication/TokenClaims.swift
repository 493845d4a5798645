import Configuration
import Domain
import Formats

/// The claims of a customer's token (RFC 7519), as far as the gateway reads them.
struct TokenClaims: Decodable {
  private let claims: [ExactText: Claim]

  init(from decoder: any Decoder) throws { claims = try [ExactText: Claim](from: decoder) }

  /// The publisher that an unverified token names, by `publisherId`, or without it by `iss` and `aud`.
  ///
  /// - Parameter now: milliseconds since 1970.
  func publisher(of publishers: Publishers, now: Int64) -> PublisherLookUp<Publisher> {
    if let claim = claims["publisherId"] { return claim.number.map { publishers.lookUp(PublisherId($0)) } ?? .unknown }
    guard let issuer = claims["iss"]?.text.map(TokenIssuer.init(_:)) else { return .unknown }
    return publishers.holder(ofIssuer: issuer, audiences: claims["aud"]?.audiences ?? [], now: now)
  }

  /// Whether a claim names a publisher, rightly or wrongly.
  var namesPublisher: Bool { claims["publisherId"] != nil || claims["iss"] != nil }

  /// Checks the claims of a token whose signature is right.
  ///
  /// - Parameter now: seconds since 1970.
  /// - Returns: the customer's id.
  /// - Throws: ``Problem``: 401 with the name of the wrong claim.
  func customer(_ policy: Publisher.CustomerTokenPolicy, now: Int64) throws(Problem) -> CustomerId {
    guard let expiry = claims["exp"]?.date else {
      throw .invalidCredential("exp: the customer's token must say when it expires, in seconds since 1970.")
    }
    guard now - policy.leeway < expiry else {
      throw .invalidCredential("exp: the customer's token expired at \(expiry), and now is \(now); send a new one.")
    }
    if let start = claims["nbf"], (start.date ?? .max) > now + policy.leeway {
      throw .invalidCredential("nbf: the customer's token is not valid yet; now is \(now), in seconds since 1970.")
    }
    if let longest = policy.maxLifetime { try checkLifetime(until: expiry, longest, now: now, leeway: policy.leeway) }
    if let issuer = policy.issuer, claims["iss"]?.text.map(TokenIssuer.init(_:)) != issuer {
      throw .invalidCredential("iss: the customer's token is not from \(issuer).")
    }
    guard policy.admits(audiences: claims["aud"]?.audiences ?? []) else {
      throw .invalidCredential(
        "aud: the customer's token is not for \(policy.audiences.map(\.text).joined(separator: " or ")).")
    }
    guard let customerId = claims[policy.customerClaim]?.customerId else {
      throw .invalidCredential(
        "\(policy.customerClaim): the customer's token needs the customer's id, a text of 1 to \(CustomerId.longest) bytes "
          + "or a whole number from 1.")
    }
    return customerId
  }

  private func checkLifetime(
    until expiry: Int64, _ longest: Int64, now: Int64, leeway: Int64
  ) throws(Problem) {
    guard let issued = claims["iat"]?.date else {
      throw .invalidCredential("iat: the customer's token must say when it was issued, in seconds since 1970.")
    }
    // From the future, a token could be issued for longer than it may live.
    guard issued <= now + leeway else {
      throw .invalidCredential("iat: the customer's token was issued in the future; now is \(now).")
    }
    let (lifetime, isTooLong) = expiry.subtractingReportingOverflow(issued)
    guard !isTooLong, lifetime <= longest else {
      throw .invalidCredential("exp: the customer's token is valid for more than \(longest) seconds after iat.")
    }
  }

  /// A claim: a number, a text, or a list of texts.
  private struct Claim: Decodable {
    /// An id of a publisher: a whole number, or a text that spells one.
    let number: Int64?
    /// An id of a customer: a text, or a whole number from 1.
    let customerId: CustomerId?
    /// A date in seconds since 1970, which may have a fraction (RFC 7519, section 2).
    let date: Int64?
    let text: String?
    /// The texts of `aud`: a list, or the only one; empty for a claim of another form.
    let audiences: [TokenAudience]

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(Int64.self) {
        (self.number, customerId, date, text, audiences) = (number, CustomerId(number: number), number, nil, [])
      } else if let number = try? container.decode(Double.self), number.magnitude < 9e15 {
        let whole = number == number.rounded() ? Int64(number) : nil
        self.number = whole
        (customerId, date, text, audiences) = (whole.flatMap(CustomerId.init(number:)), Int64(number), nil, [])
      } else {
        let text = try? container.decode(String.self)
        number = text.flatMap { Int64($0) }
        (customerId, date, self.text) = (text.map(CustomerId.init(_:)).flatMap { $0.isValid ? $0 : nil }, number, text)
        audiences = text.map { [TokenAudience($0)] } ?? (try? container.decode([TokenAudience].self)) ?? []
      }
    }
  }
}
