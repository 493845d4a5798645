import Crypto
public import Formats
public import JSON

/// Why a JSON Web Key (RFC 7517) cannot check customers' tokens.
public struct UnusableKey: Error, Equatable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

extension CustomerTokenKey {
  /// Reads a JSON Web Key: `RSA` for RS256, `EC` on P-256 for ES256, `OKP` on Ed25519 for EdDSA.
  ///
  /// A symmetric key does not come from a set that others can read. A private key is not one that anybody should sign
  /// with any more.
  public init(jwk members: [ExactText: JSONValue]) throws(UnusableKey) {
    func text(_ name: String) throws(UnusableKey) -> String? {
      guard let value = members[name] else { return nil }
      guard case .string(let text) = value else { throw UnusableKey("\(name) is not a text") }
      return text
    }
    func number(_ name: String) throws(UnusableKey) -> [UInt8] {
      guard let bytes = try text(name).flatMap({ Base64URL.decode($0) }) else {
        throw UnusableKey("\(name) is not a number in base64url")
      }
      return bytes
    }
    if members["d"] != nil || members["k"] != nil { throw UnusableKey("it has a secret part, expected a public key") }
    if let use = try text("use"), use != "sig" { throw UnusableKey("use is not sig") }
    if let operations = members["key_ops"] {
      guard case .array(let names) = operations, names.contains(.string("verify")) else {
        throw UnusableKey("key_ops has no verify")
      }
    }
    let key: Key
    do {
      switch try text("kty").map(ExactText.init(_:)) {
      case "RSA": key = .rs256(try RSAPublicKey(modulus: try number("n"), exponent: try number("e")))
      case "EC":
        guard try text("crv") == "P-256" else { throw UnusableKey("crv is not P-256") }
        key = .es256(try P256PublicKey(x: try number("x"), y: try number("y")))
      case "OKP":
        guard try text("crv") == "Ed25519" else { throw UnusableKey("crv is not Ed25519") }
        key = .eddsa(try Ed25519PublicKey(try number("x")))
      default: throw UnusableKey("kty is not RSA, EC or OKP")
      }
    } catch let error as UnusableKey {
      throw error
    } catch let error as CryptoError {
      // OpenSSL's numbers would help nobody.
      throw UnusableKey(error.isOfOpenSSL ? "could not \(error.operation): its numbers make no key" : "\(error)")
    } catch {
      throw UnusableKey("\(error)")
    }
    if let algorithm = try text("alg").map(SignatureAlgorithm.init(_:)), !key.fits(algorithm) {
      throw UnusableKey("alg is not \(key.algorithm)")
    }
    self.init(id: try text("kid").map(KeyId.init(_:)), key)
  }
}
