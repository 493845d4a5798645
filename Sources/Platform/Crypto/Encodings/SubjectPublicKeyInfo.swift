/// Writes public keys in DER as X.509 has them (RFC 5280, section 4.1), from the numbers that a JSON Web Key gives.
enum SubjectPublicKeyInfo {
  /// An RSA key (RFC 3279, section 2.3.1). Both numbers are unsigned, the most significant byte first.
  static func rsa(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
    let algorithm: [UInt8] = [
      0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]
    let key = element(0x30, integer(modulus) + integer(exponent))
    return element(0x30, algorithm + element(0x03, [0] + key))
  }

  /// A point on P-256 (RFC 5480). Both coordinates have 32 bytes.
  static func p256(x: [UInt8], y: [UInt8]) -> [UInt8] {
    let algorithm: [UInt8] = [
      0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03,
      0x01, 0x07,
    ]
    return element(0x30, algorithm + element(0x03, [0, 0x04] + x + y))
  }

  /// An INTEGER. It has no leading zeros, except one that keeps it from being negative.
  private static func integer(_ number: [UInt8]) -> [UInt8] {
    let digits = Array(number.drop { $0 == 0 })
    let isNegative = digits.first.map { $0 >= 0x80 } ?? true
    return element(0x02, (isNegative ? [0] : []) + digits)
  }

  private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    var length: [UInt8] = []
    if content.count < 0x80 {
      length = [UInt8(content.count)]
    } else {
      var rest = content.count
      while rest > 0 {
        length.insert(UInt8(rest & 0xff), at: 0)
        rest >>= 8
      }
      length.insert(0x80 | UInt8(length.count), at: 0)
    }
    return [tag] + length + content
  }
}
