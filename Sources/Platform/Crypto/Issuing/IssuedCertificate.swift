import COpenSSL

/// An X.509 certificate from a ``CertificateAuthority``, newly made or read again from its DER form.
///
/// It is only for the simulator and for tests.
public final class IssuedCertificate: @unchecked Sendable {
  // Sendable is right: nothing changes the X509 after `init`, and OpenSSL locks its own caches inside.
  let pointer: OpaquePointer
  /// The certificate's encoding.
  public let der: [UInt8]

  /// Takes over one reference of `pointer`.
  init(takingOwnershipOf pointer: OpaquePointer) throws(CryptoError) {
    var output: UnsafeMutablePointer<UInt8>?
    let count = i2d_X509(pointer, &output)
    guard count > 0, let output else {
      X509_free(pointer)
      throw .taken(during: "encode a certificate")
    }
    der = Array(UnsafeBufferPointer(start: output, count: Int(count)))
    CRYPTO_free(output, #fileID, #line)
    self.pointer = pointer
  }

  deinit {
    X509_free(pointer)
  }

  /// Reads a certificate.
  public convenience init(der: [UInt8]) throws(CryptoError) {
    let pointer = der.withUnsafeBufferPointer { bytes in
      var start = bytes.baseAddress
      return d2i_X509(nil, &start, bytes.count)
    }
    guard let pointer else { throw .taken(during: "read a certificate") }
    try self.init(takingOwnershipOf: pointer)
  }

  /// Reads the first certificate of a PEM text.
  public convenience init(pem: String) throws(CryptoError) {
    guard let pointer = MemoryBIO.reading(pem, { PEM_read_bio_X509($0, nil, noPassword, nil) }) else {
      throw .taken(during: "read a certificate")
    }
    try self.init(takingOwnershipOf: pointer)
  }

  /// The certificate as a PEM block.
  public var pem: String {
    let bytes = MemoryBIO.written { PEM_write_bio_X509($0, pointer) == 1 }
    guard let bytes else { preconditionFailure("A certificate that was read could not be written.") }
    return String(decoding: bytes, as: UTF8.self)
  }
}
