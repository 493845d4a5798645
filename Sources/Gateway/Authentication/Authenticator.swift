import Configuration
import Crypto
import Domain
import Formats
import FoundationEssentials
import HTTPServer
import JSON

/// Checks the credential of a request: a publisher's token, or a customer's JWT.
struct Authenticator {
  let publishers: Publishers
  /// Seconds since 1970.
  let now: Int64

  /// The clocks of other parties may be wrong by this many seconds.
  private static let leeway: Int64 = 30

  /// Returns the caller.
  ///
  /// - Throws: ``Problem``: 401 for a missing or wrong credential, 400 for two of them.
  func caller(of request: HTTPServerRequest) throws(Problem) -> Caller {
    let token = request.header("X-Publisher-Token")
    let authorization = request.header("Authorization")
    switch (token, authorization) {
    case (nil, nil): throw .missingCredential
    case (.some, .some):
      // RFC 6750, section 2: a request uses one method.
      throw .invalidHeaders("Send X-Publisher-Token or Authorization, not both.")
    case (.some(let token), nil): return try publisher(token)
    case (nil, .some(let authorization)):
      let words = authorization.split(separator: " ")
      guard words.count == 2, words[0].lowercased() == "bearer" else {
        throw .invalidCredential("Authorization: expected Bearer and a customer's token, with one space between them.")
      }
      return try customer(String(words[1]))
    }
  }

  /// Checks a publisher's token.
  func publisher(_ token: String) throws(Problem) -> Caller {
    guard let found = publishers.holder(ofTokenHash: SHA256.hash(Array(token.utf8))) else {
      throw .invalidCredential(
        "X-Publisher-Token: is no publisher's. Send the text whose SHA-256 is in the publisher's tokenHashes, without spaces "
          + "or a line's end.")
    }
    return Caller(publisher: found, customerId: nil)
  }

  /// Checks a JWT (RFC 7519): the publisher's pinned algorithm and key, `exp`, `nbf`, and the customer's claim.
  func customer(_ token: String) throws(Problem) -> Caller {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, token.utf8.count <= 8192,
      let header: Header = decoded(parts[0]), let claims: [ExactText: Claim] = decoded(parts[1]),
      let signature = Base64URL.decode(parts[2])
    else {
      throw .invalidCredential(
        "The customer's token is no JWT: expected three parts in base64url, at most 8192 bytes in all.")
    }
    // Unverified claims only choose the key to try. The gateway believes nothing before it has checked the signature.
    // It also tells nothing about publishers: a caller that cannot sign gets the same answer for every publisher,
    // existing or not.
    guard let publisherId = claims["publisherId"]?.number, let publisher = publishers[publisherId],
      let policy = publisher.customerTokens, header.alg.exact == policy.key.algorithm.exact, header.crit == nil
    else { throw Self.notSigned }
    let signed = Array("\(parts[0]).\(parts[1])".utf8)
    let isValid =
      switch policy.key {
      case .hs256(let secret): constantTimeEqual(HMACSHA256.authenticate(signed, key: secret), signature)
      case .rs256(let key): key.isValidPKCS1SHA256Signature(signature, for: signed)
      case .es256(let key): key.isValidSignature(signature, for: signed)
      }
    guard isValid else { throw Self.notSigned }
    guard let expiry = claims["exp"]?.date else {
      throw .invalidCredential("exp: the customer's token must say when it ends, in seconds since 1970.")
    }
    guard now - Self.leeway < expiry else {
      throw .invalidCredential("exp: the customer's token ended at \(expiry), and now is \(now); send a new one.")
    }
    if let start = claims["nbf"], (start.date ?? .max) > now + Self.leeway {
      throw .invalidCredential("nbf: the customer's token is not valid yet; now is \(now), in seconds since 1970.")
    }
    guard let customerId = claims[policy.customerClaim.exact]?.customerId else {
      throw .invalidCredential(
        "\(policy.customerClaim): the customer's token needs the customer's id, a text of 1 to \(CustomerId.longest) bytes "
          + "or a whole number from 1.")
    }
    return Caller(publisher: publisher, customerId: customerId)
  }

  private static let notSigned = Problem.invalidCredential(
    "The customer's token is not signed by the publisher in its claim publisherId, with the key and the algorithm that are "
      + "configured in the publisher's customerTokens.")

  private func decoded<Value: Decodable>(_ part: Substring) -> Value? {
    Base64URL.decode(part).flatMap { try? JSONText($0).decoded(as: Value.self) }
  }

  private struct Header: Decodable {
    let alg: String
    let crit: [String]?
  }

  /// A claim, as far as the gateway reads it: a number, or a text.
  private struct Claim: Decodable {
    /// An id of a publisher: a whole number, or a text that spells one.
    let number: Int64?
    /// An id of a customer: a text, or a whole number from 1.
    let customerId: String?
    /// A date in seconds since 1970, which may have a fraction (RFC 7519, section 2).
    let date: Int64?

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(Int64.self) {
        (self.number, customerId, date) = (number, CustomerId.text(number), number)
      } else if let number = try? container.decode(Double.self), number.magnitude < 9e15 {
        self.number = number == number.rounded() ? Int64(number) : nil
        (customerId, date) = (self.number.flatMap(CustomerId.text), Int64(number))
      } else {
        let text = try? container.decode(String.self)
        number = text.flatMap { Int64($0) }
        (customerId, date) = (text.flatMap { CustomerId.isValid($0) ? $0 : nil }, number)
      }
    }
  }
}
