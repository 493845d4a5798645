import COpenSSL

/// The two forms of an ECDSA signature on P-256: OpenSSL's DER and the 64 bytes r‖s of JSON Web Signatures.
enum ECDSASignature {
  /// Returns the DER form of r‖s, or `nil` when it is not 64 bytes.
  static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
    guard raw.count == 64, let signature = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(signature) }
    let (r, s) = raw.withUnsafeBufferPointer { bytes in
      (BN_bin2bn(bytes.baseAddress, 32, nil), BN_bin2bn(bytes.baseAddress.map { $0 + 32 }, 32, nil))
    }
    guard let r, let s, ECDSA_SIG_set0(signature, r, s) == 1 else {
      BN_free(r)
      BN_free(s)
      return nil
    }
    var output: UnsafeMutablePointer<UInt8>?
    let count = i2d_ECDSA_SIG(signature, &output)
    guard count > 0, let output else { return nil }
    defer { CRYPTO_free(output, #fileID, #line) }
    return Array(UnsafeBufferPointer(start: output, count: Int(count)))
  }

  /// Returns r‖s of a DER signature, each number filled up to 32 bytes.
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
