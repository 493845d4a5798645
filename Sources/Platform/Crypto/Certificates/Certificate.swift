import COpenSSL

/// An X.509 certificate, parsed completely when it is created.
public final class Certificate: @unchecked Sendable {
  // Sendable is right: an X509 object does not change after it was parsed, and its reference count is atomic. OpenSSL
  // adds nothing later but the decoded extensions, and `init` makes it add them before anybody else can see the object.
  let pointer: OpaquePointer
  /// The DER encoding from which the certificate was read, or in which it is written.
  public let der: [UInt8]

  /// Takes over one reference of `pointer`.
  init(takingOwnershipOf pointer: OpaquePointer) throws(CryptoError) {
    self.pointer = pointer
    var output: UnsafeMutablePointer<UInt8>?
    let count = i2d_X509(pointer, &output)
    defer { CRYPTO_free(output, #fileID, #line) }
    der = count > 0 ? Array(UnsafeBufferPointer(start: output, count: Int(count))) : []
    // This call decodes the extensions. Its answer does not matter, since -1 asks for no purpose.
    let decoded = X509_check_purpose(pointer, -1, 0)
    guard count > 0, decoded == 1 else { throw .taken(during: "read a certificate's extensions") }
  }

  /// Reads exactly one DER certificate. A further byte is an error.
  public convenience init(der: [UInt8]) throws(CryptoError) {
    let operation = "read a DER certificate"
    let (parsed, rest) = der.withUnsafeBufferPointer { bytes in
      var start = bytes.baseAddress
      let parsed = d2i_X509(nil, &start, bytes.count)
      return (parsed, parsed == nil ? 0 : bytes.count - (start.map { $0 - (bytes.baseAddress ?? $0) } ?? 0))
    }
    guard let parsed else { throw .taken(during: operation) }
    guard rest == 0 else {
      X509_free(parsed)
      throw CryptoError(operation: operation, cause: "\(rest) bytes after the certificate")
    }
    try self.init(takingOwnershipOf: parsed)
  }

  /// Reads the first `BEGIN CERTIFICATE` block of `pem`.
  public convenience init(pem: String) throws(CryptoError) {
    guard let parsed = MemoryBIO.reading(pem, { PEM_read_bio_X509($0, nil, noPassword, nil) }) else {
      throw .taken(during: "read a PEM certificate")
    }
    try self.init(takingOwnershipOf: parsed)
  }

  /// Reads one DER certificate, or PEM with one or more.
  ///
  /// - Throws: ``CryptoError``, also when there is no certificate.
  public static func all(in bytes: [UInt8]) throws(CryptoError) -> [Certificate] {
    let end = "-----END CERTIFICATE-----"
    // DER begins with a SEQUENCE byte. No PEM file has that character.
    if bytes.first == 0x30 { return [try Certificate(der: bytes)] }
    var certificates: [Certificate] = []
    var rest = String(decoding: bytes, as: UTF8.self)[...]
    while let range = rest.firstRange(of: end) {
      certificates.append(try Certificate(pem: String(rest[..<range.upperBound])))
      rest = rest[range.upperBound...]
    }
    guard !certificates.isEmpty else { throw CryptoError(operation: "read certificates", cause: "none found") }
    return certificates
  }

  deinit {
    X509_free(pointer)
  }

  /// The certificate as a `BEGIN CERTIFICATE` block.
  public var pem: String {
    let bytes = MemoryBIO.written { PEM_write_bio_X509($0, pointer) == 1 }
    guard let bytes else { preconditionFailure("A certificate that was read could not be written.") }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// SHA-256 of the DER encoding.
  public var sha256: [UInt8] { SHA256.hash(der) }
}
