import COpenSSL

/// The two forms of an ECDSA signature on P-256: OpenSSL's DER and the 64 bytes r‖s of JSON Web Signatures.
enum ECDSASignature {
  /// Returns the DER form of r‖s (a SEQUENCE of two INTEGERs, RFC 3279 section 2.2.3), or `nil` unless it has 64 bytes.
  ///
  /// This function writes the bytes itself. OpenSSL would first make two numbers and a structure, for every signature
  /// to check.
  static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
    guard raw.count == 64 else { return nil }
    var der: [UInt8] = [0x30, 0]
    der.reserveCapacity(72)
    appendInteger(raw[..<32], to: &der)
    appendInteger(raw[32...], to: &der)
    der[1] = UInt8(der.count - 2)
    return der
  }

  /// Appends an INTEGER. It has no leading zeros, except one that keeps it from being negative.
  private static func appendInteger(_ number: ArraySlice<UInt8>, to der: inout [UInt8]) {
    let last = number.endIndex - 1
    let digits = number[(number[..<last].firstIndex { $0 != 0 } ?? last)...]
    let needsZero = digits[digits.startIndex] >= 0x80
    der.append(0x02)
    der.append(UInt8(digits.count + (needsZero ? 1 : 0)))
    if needsZero { der.append(0) }
    der.append(contentsOf: digits)
  }

  /// Returns r‖s of a DER signature, each number padded to 32 bytes.
  static func raw(fromDER der: [UInt8]) -> [UInt8]? {
    let signature = der.withUnsafeBufferPointer { bytes in
      var start = bytes.baseAddress
      return d2i_ECDSA_SIG(nil, &start, bytes.count)
    }
    guard let signature else { return nil }
    defer { ECDSA_SIG_free(signature) }
    var raw = [UInt8](repeating: 0, count: 64)
    let isWritten = raw.withUnsafeMutableBufferPointer { bytes in
      BN_bn2binpad(ECDSA_SIG_get0_r(signature), bytes.baseAddress, 32) == 32
        && BN_bn2binpad(ECDSA_SIG_get0_s(signature), bytes.baseAddress.map { $0 + 32 }, 32) == 32
    }
    return isWritten ? raw : nil
  }
}
