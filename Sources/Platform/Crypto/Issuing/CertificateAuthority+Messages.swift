import COpenSSL

extension CertificateAuthority {
  /// Signs a message after RFC 5652 with this authority's key, as Apple signs app receipts.
  ///
  /// The message holds its content and has no signed attributes. The digest is SHA-256.
  ///
  /// - Parameter certificates: the certificates to enclose beside the signer's own.
  public func signedMessage(
    _ content: [UInt8], enclosing certificates: [IssuedCertificate]
  ) throws(CryptoError) -> [UInt8] {
    let operation = "sign a message"
    guard let stack = OPENSSL_sk_new_null() else { throw .taken(during: operation) }
    defer { OPENSSL_sk_free(stack) }
    for certificate in certificates { OPENSSL_sk_push(stack, UnsafeRawPointer(certificate.pointer)) }
    let bytes = content.withUnsafeBufferPointer { buffer -> [UInt8]? in
      guard let input = BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count)) else { return nil }
      defer { BIO_free(input) }
      let flags = UInt32(CMS_BINARY | CMS_NOATTR | CMS_NOSMIMECAP)
      guard let cms = CMS_sign(certificate.pointer, key.handle.pointer, stack, input, flags) else { return nil }
      defer { CMS_ContentInfo_free(cms) }
      var output: UnsafeMutablePointer<UInt8>?
      let count = i2d_CMS_ContentInfo(cms, &output)
      guard count > 0, let output else { return nil }
      defer { CRYPTO_free(output, #fileID, #line) }
      return Array(UnsafeBufferPointer(start: output, count: Int(count)))
    }
    guard let bytes else { throw .taken(during: operation) }
    return bytes
  }
}
