import COpenSSL

/// A certificate with its private key, which can issue further certificates: a small test PKI.
///
/// It is only for the simulator and for tests: serial numbers are random, and it records and revokes nothing.
public final class CertificateAuthority: Sendable {
  /// The authority's own certificate.
  public let certificate: IssuedCertificate
  /// The authority's key for signatures.
  public let key: IssuingKey

  /// Takes up an existing authority. The caller must know that certificate and key belong together.
  public init(certificate: IssuedCertificate, key: IssuingKey) {
    self.certificate = certificate
    self.key = key
  }

  /// Creates a self-signed authority with a new key.
  public static func root(
    commonName: String, curve: IssuingKey.Curve = .p384
  ) throws(CryptoError) -> CertificateAuthority {
    let key = try IssuingKey.generate(curve)
    let profile = CertificateProfile(commonName: commonName, use: .authority(pathLength: nil))
    return CertificateAuthority(certificate: try makeCertificate(profile, for: key, issuer: nil), key: key)
  }

  /// Issues an authority below this one, with a new key.
  public func issueAuthority(
    _ profile: CertificateProfile, curve: IssuingKey.Curve = .p384
  ) throws(CryptoError) -> CertificateAuthority {
    let key = try IssuingKey.generate(curve)
    return CertificateAuthority(certificate: try issue(profile, for: key), key: key)
  }

  /// Issues a certificate for `subjectKey`. The signature is ECDSA over SHA-384, as in Apple's certificates.
  public func issue(_ profile: CertificateProfile, for subjectKey: IssuingKey) throws(CryptoError) -> IssuedCertificate
  {
    try Self.makeCertificate(profile, for: subjectKey, issuer: self)
  }

  private static func makeCertificate(
    _ profile: CertificateProfile, for subjectKey: IssuingKey, issuer: CertificateAuthority?
  ) throws(CryptoError) -> IssuedCertificate {
    let operation = "issue the certificate \(profile.commonName)"
    let serial = try secureRandomBytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1
    guard let certificate = X509_new() else { throw .taken(during: operation) }
    var isHandedOver = false
    defer { if !isHandedOver { X509_free(certificate) } }

    guard X509_set_version(certificate, 2) == 1,
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) == 1,
      X509_time_adj_ex(X509_getm_notBefore(certificate), 0, Int(profile.notBefore.components.seconds), nil) != nil,
      X509_time_adj_ex(X509_getm_notAfter(certificate), 0, Int(profile.notAfter.components.seconds), nil) != nil,
      X509_set_pubkey(certificate, subjectKey.handle.pointer) == 1,
      // X509_get_subject_name returns the certificate's own name; this call fills it in place.
      X509_NAME_add_entry_by_txt(
        X509_get_subject_name(certificate), "CN", MBSTRING_FLAG, profile.commonName, -1, -1, 0) == 1,
      X509_set_issuer_name(certificate, X509_get_subject_name(issuer?.certificate.pointer ?? certificate)) == 1
    else { throw .taken(during: operation) }

    try addExtensions(of: profile, to: certificate, issuer: issuer?.certificate.pointer ?? certificate)
    guard X509_sign(certificate, (issuer?.key ?? subjectKey).handle.pointer, EVP_sha384()) > 0 else {
      throw .taken(during: operation)
    }
    isHandedOver = true
    return try IssuedCertificate(takingOwnershipOf: certificate)
  }

  private static func addExtensions(
    of profile: CertificateProfile, to certificate: OpaquePointer, issuer: OpaquePointer
  ) throws(CryptoError) {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
    let identifiers = [("subjectKeyIdentifier", "hash"), ("authorityKeyIdentifier", "keyid")]
    for (name, value) in profile.extensions + identifiers {
      let operation = "write the extension \(name) = \(value)"
      guard let made = X509V3_EXT_nconf(nil, &context, name, value) else { throw .taken(during: operation) }
      defer { X509_EXTENSION_free(made) }
      guard X509_add_ext(certificate, made, -1) == 1 else { throw .taken(during: operation) }
    }
    for marker in profile.markers { try add(marker: marker, to: certificate) }
  }

  private static func add(marker: String, to certificate: OpaquePointer) throws(CryptoError) {
    let operation = "write the marker extension \(marker)"
    let null: [UInt8] = [0x05, 0x00]
    guard let identifier = OBJ_txt2obj(marker, 1) else { throw .taken(during: operation) }
    defer { ASN1_OBJECT_free(identifier) }
    guard let value = ASN1_OCTET_STRING_new() else { throw .taken(during: operation) }
    defer { ASN1_OCTET_STRING_free(value) }
    guard ASN1_OCTET_STRING_set(value, null, Int32(null.count)) == 1,
      let made = X509_EXTENSION_create_by_OBJ(nil, identifier, 0, value)
    else { throw .taken(during: operation) }
    defer { X509_EXTENSION_free(made) }
    guard X509_add_ext(certificate, made, -1) == 1 else { throw .taken(during: operation) }
  }
}
