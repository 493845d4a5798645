import Formats
import JSON

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
      case .notASet: "it is not a JSON object with a list \"keys\""
      case .tooManyKeys(let count): "it has \(count) keys, and at most \(mostKeys) are read"
      case .noUsableKey(let reason): "it has no usable key" + (reason.map { "; of the first one, \($0)" } ?? "")
      }
    }
  }

  /// Reads a set. Of two keys with the same id and algorithm the first one counts.
  public init(_ bytes: [UInt8]) throws(Unusable) {
    guard bytes.count <= Self.mostBytes else { throw .tooLong }
    guard let value: JSONValue = try? JSONText(bytes, limits: .answers).decoded(), case .object(let members) = value,
      case .array(let elements) = members["keys"]
    else { throw .notASet }
    guard elements.count <= Self.mostKeys else { throw .tooManyKeys(elements.count) }
    var keys: [CustomerTokenKey] = []
    var skipped: [(place: Int, reason: UnusableKey)] = []
    for (place, element) in elements.enumerated() {
      do throws(UnusableKey) {
        guard case .object(let members) = element else { throw UnusableKey("it is not an object") }
        let key = try CustomerTokenKey(jwk: members)
        let isRepeated = keys.contains {
          $0.id != nil && $0.id == key.id && $0.key.algorithm == key.key.algorithm
        }
        if isRepeated { throw UnusableKey("kid appears twice") }
        keys.append(key)
      } catch {
        skipped.append((place, error))
      }
    }
    guard !keys.isEmpty else { throw .noUsableKey(firstReason: skipped.first.map(\.reason.description)) }
    (self.keys, self.skipped) = (keys, skipped)
  }
}
