/// The two alphabets of RFC 4648 and the bit shuffling that they share.
struct Base64Alphabet: Sendable {
  static let standard = Base64Alphabet("+", "/")
  static let urlSafe = Base64Alphabet("-", "_")

  private let characters: [UInt8]
  /// The value of each ASCII character, 255 for those outside the alphabet.
  private let values: [UInt8]

  private init(_ character62: Unicode.Scalar, _ character63: Unicode.Scalar) {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    characters = alphabet + [UInt8(ascii: character62), UInt8(ascii: character63)]
    var values = [UInt8](repeating: 255, count: 256)
    for (value, character) in characters.enumerated() { values[Int(character)] = UInt8(value) }
    self.values = values
  }

  /// Returns the text of `bytes`, filled up to a multiple of four characters when `padded`.
  func encode(_ bytes: [UInt8], padded: Bool) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let taken = min(3, bytes.count - index)
      var group = UInt32(bytes[index]) << 16
      if taken > 1 { group |= UInt32(bytes[index + 1]) << 8 }
      if taken > 2 { group |= UInt32(bytes[index + 2]) }
      for position in 0...taken { text.append(characters[Int(group >> (18 - 6 * UInt32(position)) & 63)]) }
      if padded { for _ in taken..<3 { text.append(UInt8(ascii: "=")) } }
      index += 3
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the bytes of unpadded text; `nil` for a stray character, a length that cannot be, or set bits behind the
  /// last byte, so that each byte string has exactly one text.
  func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3 + 2)
    var buffer: UInt32 = 0
    var bits: UInt32 = 0
    for character in text {
      let value = values[Int(character)]
      guard value != 255 else { return nil }
      buffer = buffer << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
        buffer &= (1 << bits) - 1
      }
    }
    // Six leftover bits are one character alone, which encodes nothing.
    guard bits < 6, buffer == 0 else { return nil }
    return bytes
  }
}
