import Crypto
import Formats
import Testing

/// AES-256-GCM against published vectors, and the sealed form over it.
struct CipherTests {
  struct Vector: Sendable, CustomTestStringConvertible {
    let key: String
    let nonce: String
    let text: String
    var additional = ""
    let ciphertext: String
    let tag: String
    var testDescription: String { tag }
  }

  private static let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
  private static let text = """
    d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525\
    b16aedf5aa0de657ba637b39
    """
  private static let ciphertext = """
    522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838\
    c5f61e6393ba7a0abcc9f662
    """
  private static let zeros = String(repeating: "0", count: 64)

  /// Test cases 13 to 16 of the specification of GCM that NIST took, and the first one of NIST's own file
  /// gcmEncryptExtIV256.rsp.
  static let vectors = [
    Vector(
      key: zeros, nonce: String(zeros.prefix(24)), text: "", ciphertext: "", tag: "530f8afbc74536b9a963b4f1c4cb738b"),
    Vector(
      key: zeros, nonce: String(zeros.prefix(24)), text: String(zeros.prefix(32)),
      ciphertext: "cea7403d4d606b6e074ec5d3baf39d18", tag: "d0d1c8a799996bf0265b98b5d48ab919"),
    Vector(
      key: key, nonce: "cafebabefacedbaddecaf888", text: text + "1aafd255", ciphertext: ciphertext + "898015ad",
      tag: "b094dac5d93471bdec1a502270e3cc6c"),
    Vector(
      key: key, nonce: "cafebabefacedbaddecaf888", text: text, additional: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
      ciphertext: ciphertext, tag: "76fc6ece0f4e1768cddf8853bb2d551b"),
    Vector(
      key: "b52c505a37d78eda5dd34f20c22540ea1b58963cf8e5bf8ffa85f9f2492505b4", nonce: "516c33929df5a3284ff463d7",
      text: "", ciphertext: "", tag: "bdc1ac884d332457a1d2664f168c76f0"),
  ]

  @Test(arguments: vectors)
  func `the vectors of NIST`(_ vector: Vector) throws {
    let cipher = try AES256GCM(key: try #require(Hex.decode(vector.key)))
    let nonce = try #require(Hex.decode(vector.nonce))
    let text = try #require(Hex.decode(vector.text))
    let additional = try #require(Hex.decode(vector.additional))
    let sealed = try cipher.seal(text, nonce: nonce, additional: additional)
    #expect(Hex.encode(sealed) == vector.ciphertext + vector.tag)
    #expect(cipher.open(sealed, nonce: nonce, additional: additional) == text)
  }

  @Test func `a change of any byte is noticed`() throws {
    let cipher = try AES256GCM(key: Array(repeating: 7, count: 32))
    let (nonce, additional) = ([UInt8](repeating: 1, count: 12), Array("row".utf8))
    let sealed = try cipher.seal(Array("a secret".utf8), nonce: nonce, additional: additional)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(cipher.open(changed, nonce: nonce, additional: additional) == nil, "\(index)")
    }
    for index in nonce.indices {
      var changed = nonce
      changed[index] ^= 1
      #expect(cipher.open(sealed, nonce: changed, additional: additional) == nil, "\(index)")
    }
    #expect(cipher.open(sealed, nonce: nonce, additional: Array("rov".utf8)) == nil)
    #expect(cipher.open(sealed, nonce: nonce, additional: []) == nil)
    #expect(cipher.open(sealed.dropLast(), nonce: nonce, additional: additional) == nil)
    #expect(cipher.open([], nonce: nonce, additional: additional) == nil)
    #expect(cipher.open(sealed, nonce: [1], additional: additional) == nil)
    let other = try AES256GCM(key: Array(repeating: 8, count: 32))
    #expect(other.open(sealed, nonce: nonce, additional: additional) == nil)
    #expect(cipher.open(sealed, nonce: nonce, additional: additional) == Array("a secret".utf8))
  }

  @Test func `keys and nonces have one length`() throws {
    for count in [0, 16, 31, 33] {
      #expect(throws: CryptoError.self) { try AES256GCM(key: Array(repeating: 1, count: count)) }
    }
    let cipher = try AES256GCM(key: Array(repeating: 1, count: 32))
    for count in [0, 11, 13, 16] {
      #expect(throws: CryptoError.self) {
        try cipher.seal([1], nonce: Array(repeating: 1, count: count), additional: [])
      }
    }
  }

  // MARK: The sealed form

  private func keys(_ ids: String...) throws -> SealingKeys {
    try SealingKeys(ids.map { (id: $0, key: SHA256.hash(Array($0.utf8))) })
  }

  @Test func `the first key seals, and every key opens`() throws {
    let (place, text) = (Array("here".utf8), Array("secret".utf8))
    let old = try #require(try keys("old").seal(text, for: place))
    let both = try keys("new", "old")
    let new = try #require(try both.seal(text, for: place))
    #expect(old.keyId == "old" && new.keyId == "new")
    #expect(try both.open(old, for: place) == text)
    #expect(try both.open(new, for: place) == text)
    // A version byte, a nonce, the text, a tag.
    #expect(new.bytes.count == 1 + 12 + text.count + 16 && new.bytes[0] == 1)
    // The nonce is random.
    #expect(try both.seal(text, for: place) != new)
    #expect(try SealingKeys().seal(text, for: place) == nil)
    #expect("\(both)" == "keys new, old")
  }

  @Test func `a text is opened at its place and under its key only`() throws {
    let (place, text) = (Array("here".utf8), Array("secret".utf8))
    let both = try keys("new", "old")
    let sealed = try #require(try both.seal(text, for: place))
    #expect(throws: SealingKeys.Refusal.missingKey) { try keys("old").open(sealed, for: place) }
    #expect(throws: SealingKeys.Refusal.notAuthentic) { try both.open(sealed, for: Array("there".utf8)) }
    #expect(throws: SealingKeys.Refusal.notAuthentic) {
      try both.open(.init(keyId: "old", bytes: sealed.bytes), for: place)
    }
    // Another key with the same id.
    let impostor = try SealingKeys([(id: "new", key: Array(repeating: 9, count: 32))])
    #expect(throws: SealingKeys.Refusal.notAuthentic) { try impostor.open(sealed, for: place) }
    // The same key with another id: the id is authenticated too.
    let renamed = try SealingKeys([(id: "renamed", key: SHA256.hash(Array("new".utf8)))])
    #expect(throws: SealingKeys.Refusal.notAuthentic) {
      try renamed.open(.init(keyId: "renamed", bytes: sealed.bytes), for: place)
    }
    let malformed: [[UInt8]] = [[], [1], [2] + sealed.bytes.dropFirst(), Array(sealed.bytes.prefix(28))]
    for bytes in malformed {
      #expect(throws: SealingKeys.Refusal.notAuthentic) {
        try both.open(.init(keyId: "new", bytes: bytes), for: place)
      }
    }
  }
}
