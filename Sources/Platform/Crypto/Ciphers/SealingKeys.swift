import Formats

/// Keys that encrypt secrets for storage. The first one encrypts, and all of them decrypt.
///
/// A sealed text is a version byte, a nonce of 12 bytes, and what ``AES256GCM`` makes of the text. The key's id is kept
/// beside it. The description of this value shows the ids only.
public struct SealingKeys: Sendable, CustomStringConvertible {
  /// The first byte of a sealed text. Another form would have another one.
  private static let version: UInt8 = 1

  /// The ids in the order of their keys.
  public let ids: [String]
  private let ciphers: [AES256GCM]

  /// Creates an empty value, which neither encrypts nor decrypts.
  public init() { (ids, ciphers) = ([], []) }

  /// Creates a value with keys of 32 bytes. No id may be there twice.
  ///
  /// - Throws: ``CryptoError`` for a key of another length.
  public init(_ keys: [(id: String, key: [UInt8])]) throws(CryptoError) {
    var ciphers: [AES256GCM] = []
    for key in keys { ciphers.append(try AES256GCM(key: key.key)) }
    (ids, self.ciphers) = (keys.map(\.id), ciphers)
  }

  /// The id of the key that encrypts; `nil` without keys.
  public var first: String? { ids.first }

  /// Whether a key has this id.
  public func has(_ id: String) -> Bool { index(of: id) != nil }

  /// The ids of keys that other keys have taken the place of: they lack the id, or have another key under it.
  public func dropped(by others: SealingKeys) -> [String] {
    zip(ids, ciphers).filter { id, cipher in others.index(of: id).map { others.ciphers[$0] } != cipher }.map(\.0)
  }

  private func index(of id: String) -> Int? { ids.firstIndex { $0.isExactly(id) } }

  public var description: String { "keys \(ids.joined(separator: ", "))" }

  /// A text under a key.
  public struct Sealed: Sendable, Equatable {
    /// The id of the key.
    public let keyId: String
    public let bytes: [UInt8]

    /// Creates a sealed text from what a store kept.
    public init(keyId: String, bytes: [UInt8]) {
      self.keyId = keyId
      self.bytes = bytes
    }
  }

  /// The reason why a sealed text cannot be opened.
  public enum Refusal: Error, Sendable, Equatable {
    /// No key has the id.
    case missingKey
    /// The text was sealed for another place or under another key, or somebody changed it.
    case notAuthentic
  }

  /// Seals a text with the first key, for one place only.
  ///
  /// - Parameter place: names where the text is kept. The text cannot be opened for any other place.
  /// - Returns: `nil` without keys.
  public func seal(_ text: [UInt8], for place: [UInt8]) throws(CryptoError) -> Sealed? {
    guard let id = ids.first else { return nil }
    let nonce = try secureRandomBytes(AES256GCM.nonceSize)
    let ciphertext = try ciphers[0].seal(text, nonce: nonce, additional: Self.additional(place, id))
    return Sealed(keyId: id, bytes: [Self.version] + nonce + ciphertext)
  }

  /// Opens a text that was sealed for a place.
  public func open(_ sealed: Sealed, for place: [UInt8]) throws(Refusal) -> [UInt8] {
    guard let index = index(of: sealed.keyId) else { throw .missingKey }
    let start = 1 + AES256GCM.nonceSize
    guard sealed.bytes.first == Self.version, sealed.bytes.count >= start + AES256GCM.tagSize else {
      throw .notAuthentic
    }
    let text = ciphers[index].open(
      sealed.bytes[start...], nonce: Array(sealed.bytes[1..<start]), additional: Self.additional(place, ids[index]))
    guard let text else { throw .notAuthentic }
    return text
  }

  /// The version, the key's id behind its length, and the place: no two triples give the same bytes.
  private static func additional(_ place: [UInt8], _ id: String) -> [UInt8] {
    [version, UInt8(truncatingIfNeeded: id.utf8.count >> 8), UInt8(truncatingIfNeeded: id.utf8.count)] + id.utf8
      + place
  }
}
