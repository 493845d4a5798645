import Configuration
import Crypto
package import Domain
import Formats
package import HTTPServer
import JSON

/// Checks the credential of a request: a publisher's token, or a customer's JWT.
///
/// It decides by value. Only ``asksForKey`` has an effect: it lets the gateway fetch a key set again.
package struct Authenticator {
  package let publishers: Publishers
  /// The keys that the gateway has fetched, by publisher. A set that was never fetched has no keys.
  var keySets: [PublisherId: KeySetCache] = [:]
  /// Seconds since 1970.
  package let now: Int64
  /// Called if a publisher's key set does not have the key of a token. It says whether a fetch runs now.
  var asksForKey: (PublisherId) -> Bool = { _ in false }

  /// Returns the caller.
  ///
  /// - Throws: ``Problem``: 401 for a missing or wrong credential, 400 for two of them, 503 while the keys of a token's
  ///   publisher are not known, or its file has a mistake.
  package func caller(of request: HTTPServerRequest) throws(Problem) -> Caller {
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
      let token = String(words[1])
      // Only who has the token learns this.
      if token.utf8.count(where: { $0 == UInt8(ascii: ".") }) != 2, case .found = holder(of: token) {
        throw .invalidCredential("Authorization: this is a publisher's token. Send it in the header X-Publisher-Token.")
      }
      return try customer(token)
    }
  }

  private func holder(of token: String) -> PublisherLookUp<TokenHolder> {
    publishers.holder(ofTokenHash: SHA256.hash(Array(token.utf8)), now: milliseconds)
  }

  /// Checks a publisher's token.
  package func publisher(_ token: String) throws(Problem) -> Caller {
    switch holder(of: token) {
    case .found(let found): return Caller(publisher: found.publisher, customerId: nil, token: found.token)
    case .broken: throw .brokenPublisher
    case .unknown:
      throw .invalidCredential(
        "X-Publisher-Token: is not a publisher's token. Send the text whose SHA-256 is in the publisher's tokens or "
          + "tokenHashes, without spaces or a line break.")
    }
  }

  /// Milliseconds since 1970.
  package var milliseconds: Int64 { now.multipliedReportingOverflow(by: 1000).partialValue }

  /// Checks a JWT (RFC 7519): the one key of the publisher that its header leads to, and then its claims.
  package func customer(_ token: String) throws(Problem) -> Caller {
    // The length comes first: a caller without a key may send as much as a request's head holds.
    let parts =
      token.utf8.count <= Self.longestToken
      ? token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { Substring($0) } : []
    guard parts.count == 3, let header: Header = decoded(parts[0], .tokenHeader),
      let claims: TokenClaims = decoded(parts[1], .tokenClaims), let signature = Base64URL.decode(parts[2])
    else {
      throw .invalidCredential(
        "The customer's token is not a JWT: expected three parts in base64url, at most \(Self.longestToken) bytes in all."
      )
    }
    // Unverified claims only choose the key to try. The gateway believes nothing before it has checked the signature.
    guard header.crit == nil else { throw CustomerTokenRefusal.critical.problem }
    let publisher: Publisher
    switch claims.publisher(of: publishers, now: milliseconds) {
    case .found(let found): publisher = found
    case .broken: throw .brokenPublisher
    case .unknown:
      let refusal: CustomerTokenRefusal = claims.namesPublisher ? .unknownPublisher : .unnamedPublisher
      throw refusal.problem
    }
    guard let policy = publisher.customerTokens else { throw CustomerTokenRefusal.unknownPublisher.problem }
    let fetched = policy.keySet.flatMap { _ in keySets[publisher.id]?.keys }
    let keys = policy.keys + (fetched ?? [])
    let signed = Array("\(parts[0]).\(parts[1])".utf8)
    // A set that has a key without an id must not take the place of the file's own.
    let found =
      policy.keys.key(id: header.kid, algorithm: header.alg).flatMap { header.kid == nil || $0.id != nil ? $0 : nil }
      ?? keys.key(id: header.kid, algorithm: header.alg)
    guard let key = found, key.key.isValidSignature(signature, for: signed) else {
      let refusal = CustomerTokenRefusal(algorithm: header.alg, keyId: header.kid, keys: keys, found: found)
      throw answer(refusal, header, keys, policy, isKnown: fetched != nil, publisher.id)
    }
    return Caller(publisher: publisher, customerId: try claims.customer(policy, now: now))
  }

  /// The answer to a token that no known key has signed. A key that the gateway has not fetched yet may have signed it.
  private func answer(
    _ refusal: CustomerTokenRefusal, _ header: Header, _ keys: [CustomerTokenKey],
    _ policy: Publisher.CustomerTokenPolicy, isKnown: Bool, _ id: PublisherId
  ) -> Problem {
    guard policy.keySet != nil else { return refusal.problem }
    if let name = header.kid, keys.has(id: name) { return refusal.problem }
    // Without any keys, nobody knows whether the token is good.
    return asksForKey(id) || !isKnown ? .keysNotKnown : refusal.problem
  }

  private func decoded<Value: Decodable>(_ part: Substring, _ limits: JSONLimits) -> Value? {
    Base64URL.decode(part).flatMap { try? JSONText($0, limits: limits).decoded(as: Value.self) }
  }

  /// The most bytes of a customer's token.
  package static let longestToken = 8192

  /// The header of a JWS (RFC 7515). Other members about keys, such as `jwk` and `jku`, are ignored.
  private struct Header: Decodable {
    let alg: SignatureAlgorithm
    let kid: KeyId?
    let crit: [String]?
  }
}

extension JSONLimits {
  /// A JOSE header: a few texts. Its lists, such as `x5c`, are not looked at.
  fileprivate static let tokenHeader = JSONLimits(depth: 4, members: 32, elements: 16, values: 128, nameBytes: 256)
  /// A customer's claims. An identity provider may list the customer's groups there.
  fileprivate static let tokenClaims = JSONLimits(depth: 8, members: 128, elements: 512, values: 1024, nameBytes: 256)
}
