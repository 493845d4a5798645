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
      guard let value = members[name.exact] else { return nil }
      guard case .string(let text) = value else { throw UnusableKey("\(name) is no text") }
      return text
    }
    func number(_ name: String) throws(UnusableKey) -> [UInt8] {
      guard let bytes = try text(name).flatMap({ Base64URL.decode($0) }) else {
        throw UnusableKey("\(name) is no number in base64url")
      }
      return bytes
    }
    if members["d"] != nil || members["k"] != nil { throw UnusableKey("it has a secret part, expected a public key") }
    if let use = try text("use"), use.exact != "sig".exact { throw UnusableKey("use is not sig") }
    if let operations = members["key_ops"] {
      guard case .array(let names) = operations, names.contains(.string("verify")) else {
        throw UnusableKey("key_ops has no verify")
      }
    }
    let key: Key
    do {
      switch try text("kty")?.exact {
      case "RSA": key = .rs256(try RSAPublicKey(modulus: try number("n"), exponent: try number("e")))
      case "EC":
        guard try text("crv")?.exact == "P-256".exact else { throw UnusableKey("crv is not P-256") }
        key = .es256(try P256PublicKey(x: try number("x"), y: try number("y")))
      case "OKP":
        guard try text("crv")?.exact == "Ed25519".exact else { throw UnusableKey("crv is not Ed25519") }
        key = .eddsa(try Ed25519PublicKey(try number("x")))
      default: throw UnusableKey("kty is not RSA, EC or OKP")
      }
    } catch let error as UnusableKey {
      throw error
    } catch {
      throw UnusableKey("\(error)")
    }
    if let algorithm = try text("alg"), !key.fits(algorithm) { throw UnusableKey("alg is not \(key.algorithm)") }
    self.init(id: try text("kid"), key)
  }
}

/// A set of JSON Web Keys (RFC 7517, section 5). A reader skips the keys that it cannot use.
public struct JSONWebKeySet: Sendable {
  /// The usable keys.
  public let keys: [CustomerTokenKey]
  /// The places of the others, and why each of them is of no use.
  public let skipped: [(place: Int, reason: UnusableKey)]

  /// The most keys of a set.
  public static let mostKeys = 100
  /// The most bytes of a set: a hundred RSA keys with their certificates have fewer.
  public static let mostBytes = 256 << 10

  /// Why a text is no set of keys for us.
  public enum Unusable: Error, Equatable, CustomStringConvertible {
    case tooLong
    case notASet
    case tooManyKeys(Int)
    case noUsableKey(firstReason: String?)

    public var description: String {
      switch self {
      case .tooLong: "it has more than \(mostBytes) bytes"
      case .notASet: "it is no JSON object with a list \"keys\""
      case .tooManyKeys(let count): "it has \(count) keys, and at most \(mostKeys) are read"
      case .noUsableKey(let reason): "it has no usable key" + (reason.map { "; of the first one, \($0)" } ?? "")
      }
    }
  }

  /// Reads a set. Of two keys with the same id and algorithm the first one counts.
  public init(_ bytes: [UInt8]) throws(Unusable) {
    guard bytes.count <= Self.mostBytes else { throw .tooLong }
    guard let value: JSONValue = try? JSONText(bytes).decoded(), case .object(let members) = value,
      case .array(let elements) = members["keys"]
    else { throw .notASet }
    guard elements.count <= Self.mostKeys else { throw .tooManyKeys(elements.count) }
    var keys: [CustomerTokenKey] = []
    var skipped: [(place: Int, reason: UnusableKey)] = []
    for (place, element) in elements.enumerated() {
      do throws(UnusableKey) {
        guard case .object(let members) = element else { throw UnusableKey("it is no object") }
        let key = try CustomerTokenKey(jwk: members)
        let isRepeated = keys.contains {
          $0.id != nil && $0.id?.exact == key.id?.exact && $0.key.algorithm.exact == key.key.algorithm.exact
        }
        if isRepeated { throw UnusableKey("kid stands twice") }
        keys.append(key)
      } catch {
        skipped.append((place, error))
      }
    }
    guard !keys.isEmpty else { throw .noUsableKey(firstReason: skipped.first.map(\.reason.description)) }
    (self.keys, self.skipped) = (keys, skipped)
  }
}
