import COpenSSL
import Glibc

extension Certificate {
  /// The subject's name on one line, as in RFC 2253.
  public var subject: String { Self.text(of: X509_get_subject_name(pointer)) }

  /// The issuer's name on one line, as in RFC 2253.
  public var issuer: String { Self.text(of: X509_get_issuer_name(pointer)) }

  /// The start of validity in milliseconds since 1970.
  public var notBefore: Int64 { Self.milliseconds(of: X509_get0_notBefore(pointer)) ?? .max }

  /// The end of validity in milliseconds since 1970. OpenSSL already counts this moment as expired.
  public var notAfter: Int64 { Self.milliseconds(of: X509_get0_notAfter(pointer)) ?? .min }

  /// Whether the basic constraints name this a certificate authority; false without basic constraints.
  public var isCA: Bool { X509_check_ca(pointer) == 1 }

  /// Whether the key may sign data: `digitalSignature` is set, or there is no key usage.
  public var allowsDigitalSignature: Bool { allows(usage: UInt32(KU_DIGITAL_SIGNATURE)) }

  /// Whether the key may sign certificates: `keyCertSign` is set, or there is no key usage.
  public var allowsCertificateSigning: Bool { allows(usage: UInt32(KU_KEY_CERT_SIGN)) }

  /// The most bits of security that the issuer's signature can have: 63 for SHA-1, 128 for SHA-256 with a good key.
  ///
  /// It is 0 when the algorithm is unknown.
  public var signatureSecurityBits: Int {
    var bits: Int32 = 0
    return X509_get_signature_info(pointer, nil, nil, &bits, nil) == 1 ? Int(bits) : 0
  }

  /// The bits of security of the certified key: 112 for RSA with 2048 bits.
  public var keySecurityBits: Int {
    guard let key = X509_get0_pubkey(pointer) else { return 0 }
    return Int(EVP_PKEY_get_security_bits(key))
  }

  /// Whether the extended key usage names the signing of code; false without an extended key usage.
  public var isForCodeSigning: Bool {
    X509_get_extension_flags(pointer) & UInt32(EXFLAG_XKUSAGE) != 0
      && X509_get_extended_key_usage(pointer) & UInt32(XKU_CODE_SIGN) != 0
  }

  /// Returns whether an extension is present, with any value. The OID is in dotted form.
  public func hasExtension(_ oid: String) -> Bool {
    guard let object = OBJ_txt2obj(oid, 1) else {
      ERR_clear_error()
      return false
    }
    defer { ASN1_OBJECT_free(object) }
    return X509_get_ext_by_OBJ(pointer, object, -1) >= 0
  }

  /// Returns the certified key if it is on P-256, and `nil` otherwise.
  public func p256PublicKey() -> P256PublicKey? {
    guard let key = X509_get_pubkey(pointer) else {
      ERR_clear_error()
      return nil
    }
    let handle = KeyHandle(takingOwnershipOf: key)
    return handle.isP256 ? P256PublicKey(handle: handle) : nil
  }

  /// Returns whether the issuer's name is the subject's name of another certificate. This proves nothing.
  public func hasIssuer(namedLike other: Certificate) -> Bool {
    X509_NAME_cmp(X509_get_issuer_name(pointer), X509_get_subject_name(other.pointer)) == 0
  }

  private func allows(usage: UInt32) -> Bool {
    // Without the extension OpenSSL returns all bits set.
    X509_get_key_usage(pointer) & usage != 0
  }

  /// XN_FLAG_RFC2253. It is a macro made of other macros, which Swift does not see.
  private static let rfc2253: UInt = 0x0111_0317

  private static func text(of name: OpaquePointer?) -> String {
    let bytes = MemoryBIO.written { X509_NAME_print_ex($0, name, 0, rfc2253) >= 0 }
    return String(decoding: bytes ?? [], as: UTF8.self)
  }

  private static func milliseconds(of time: UnsafePointer<ASN1_TIME>?) -> Int64? {
    var fields = tm()
    guard let time, ASN1_TIME_to_tm(time, &fields) == 1 else {
      ERR_clear_error()
      return nil
    }
    return Int64(timegm(&fields)) * 1000
  }
}
