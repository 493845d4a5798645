/// The two alphabets of RFC 4648, and the bit operations that they share.
struct Base64Alphabet: Sendable {
  static let standard = Base64Alphabet("+", "/")
  static let urlSafe = Base64Alphabet("-", "_")

  private let characters: [UInt8]
  /// The value of each ASCII character; 255 for a character outside the alphabet.
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

  /// Returns the bytes of unpadded text.
  ///
  /// Returns `nil` for a stray character, an impossible length, or set bits behind the last byte. So each byte string
  /// has exactly one text.
  func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    // A single character encodes nothing.
    guard text.count % 4 != 1 else { return nil }
    var isWellFormed = true
    let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 2) { output, count in
      values.withUnsafeBufferPointer { values in
        var index = 0
        while index + 4 <= text.count {
          let (a, b) = (values[Int(text[index])], values[Int(text[index + 1])])
          let (c, d) = (values[Int(text[index + 2])], values[Int(text[index + 3])])
          // Values are below 64; a stray character is 255.
          guard a | b | c | d < 64 else {
            isWellFormed = false
            return
          }
          output[count] = a << 2 | b >> 4
          output[count + 1] = b << 4 | c >> 2
          output[count + 2] = c << 6 | d
          index += 4
          count += 3
        }
        guard index < text.count else { return }
        let (a, b) = (values[Int(text[index])], values[Int(text[index + 1])])
        let c = index + 2 < text.count ? values[Int(text[index + 2])] : 0
        let isOneByte = index + 2 == text.count
        guard a | b | c < 64, (isOneByte ? b & 15 : c & 3) == 0 else {
          isWellFormed = false
          return
        }
        output[count] = a << 2 | b >> 4
        count += 1
        if !isOneByte {
          output[count] = b << 4 | c >> 2
          count += 1
        }
      }
    }
    return isWellFormed ? bytes : nil
  }
}
