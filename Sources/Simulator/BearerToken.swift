import Crypto
import Formats
import FoundationEssentials

/// A bearer token whose form and signature were checked; its times are checked at every call.
struct BearerToken: Equatable, Sendable {
  /// The app that the token speaks for.
  var app: Simulator.App
  /// UNIX seconds.
  var issuedAt: Int64
  /// UNIX seconds.
  var expiresAt: Int64

  /// Why a token is refused. Apple does not tell its callers; the log of calls does.
  enum Refusal: String, Error, Sendable {
    case missing
    case malformed
    case unknownKey
    case wrongSignature
    case wrongAudience
    case wrongIssuer
    case unknownApp
    case issuedInFuture
    case expired
    case livesTooLong
  }

  private struct Header: Decodable {
    var alg: String
    var kid: String
    var typ: String
  }

  private struct Claims: Decodable {
    var iss: String
    var iat: Int64
    var exp: Int64
    var aud: String
    var bid: ExactText
  }

  init(app: Simulator.App, issuedAt: Int64, expiresAt: Int64) {
    self.app = app
    self.issuedAt = issuedAt
    self.expiresAt = expiresAt
  }

  /// Reads a token and checks all but its times.
  init(_ token: some StringProtocol, apps: [Simulator.App], keys: [String: P256PublicKey]) throws(Refusal) {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let signature = Base64URL.decode(parts[2]),
      let header: Header = Self.decode(parts[0]), header.alg == "ES256", header.typ == "JWT"
    else { throw .malformed }
    guard let key = keys[header.kid] else { throw .unknownKey }
    guard key.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)) else { throw .wrongSignature }
    guard let claims: Claims = Self.decode(parts[1]) else { throw .malformed }
    guard claims.aud == "appstoreconnect-v1" else { throw .wrongAudience }
    guard let app = apps.first(where: { $0.keyId.isExactly(header.kid) && $0.bundleId == claims.bid }) else {
      throw .unknownApp
    }
    guard claims.iss.isExactly(app.issuerId) else { throw .wrongIssuer }
    self.init(app: app, issuedAt: claims.iat, expiresAt: claims.exp)
  }

  /// Checks the times against the clock, in UNIX seconds.
  func refusal(at now: Int64) -> Refusal? {
    if issuedAt > now + allowedSkew { return .issuedInFuture }
    if expiresAt <= now { return .expired }
    // The clamp keeps absurd numbers of a hostile token from overflowing.
    let lifetime = expiresAt.subtractingReportingOverflow(issuedAt)
    return lifetime.overflow || lifetime.partialValue > maxLifetime ? .livesTooLong : nil
  }

  private static func decode<Value: Decodable>(_ part: some StringProtocol) -> Value? {
    Base64URL.decode(part).flatMap { try? JSONDecoder().decode(Value.self, from: Data($0)) }
  }
}

private let allowedSkew: Int64 = 60
private let maxLifetime: Int64 = 3600
