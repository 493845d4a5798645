import COpenSSL

/// A signed message after RFC 5652 (PKCS #7) that carries its content and has exactly one signer, whose signature was
/// checked when it was read.
///
/// Nothing is said about who the signer is: the certificate came with the message.
public struct CMSSignedData: Sendable {
  /// Why a message was not taken.
  public enum Refusal: Error, Sendable, Equatable {
    /// Not such a message; the reason.
    case malformed(String)
    /// The enclosed signer's key did not sign the content.
    case signatureInvalid
  }

  /// What was signed.
  public let content: [UInt8]
  /// The certificate of the signer.
  public let signer: Certificate
  /// All certificates that came along, the signer's among them, in no order.
  public let certificates: [Certificate]

  /// Reads a message in BER or DER, and nothing behind it, and checks its signature.
  public init(_ bytes: [UInt8]) throws(Refusal) {
    defer { ERR_clear_error() }
    let (parsed, rest) = bytes.withUnsafeBufferPointer { buffer in
      var start = buffer.baseAddress
      let parsed = d2i_CMS_ContentInfo(nil, &start, buffer.count)
      return (parsed, parsed == nil ? 0 : buffer.count - (start.map { $0 - (buffer.baseAddress ?? $0) } ?? 0))
    }
    guard let cms = parsed else { throw .malformed("not a CMS message") }
    defer { CMS_ContentInfo_free(cms) }
    guard rest == 0 else { throw .malformed("\(rest) bytes behind the message") }
    guard OBJ_obj2nid(CMS_get0_type(cms)) == NID_pkcs7_signed else { throw .malformed("not a signed message") }
    guard OBJ_obj2nid(CMS_get0_eContentType(cms)) == NID_pkcs7_data,
      let slot = CMS_get0_content(cms), let content = slot.pointee
    else { throw .malformed("the message has no content of its own") }
    let signers = CMS_get0_SignerInfos(cms)
    guard OPENSSL_sk_num(signers) == 1, let info = OPENSSL_sk_value(signers, 0) else {
      throw .malformed("\(max(0, OPENSSL_sk_num(signers))) signers instead of one")
    }
    try Self.check(OpaquePointer(info))
    self.content = Array(
      UnsafeBufferPointer(start: ASN1_STRING_get0_data(content), count: Int(ASN1_STRING_length(content))))
    certificates = try Self.certificates(of: cms)

    let flags = UInt32(CMS_NO_SIGNER_CERT_VERIFY | CMS_BINARY)
    guard CMS_verify(cms, nil, nil, nil, nil, flags) == 1 else { throw .signatureInvalid }
    var found: OpaquePointer?
    CMS_SignerInfo_get0_algs(OpaquePointer(info), nil, &found, nil, nil)
    // The message owns its reference.
    guard let found, X509_up_ref(found) == 1 else { throw .malformed("the signer's certificate is missing") }
    guard let signer = try? Certificate(takingOwnershipOf: found) else {
      throw .malformed("the signer's certificate cannot be read")
    }
    self.signer = signer
  }

  /// Digests that a signature may be over; CMS itself would also take MD5.
  private static let digests = [NID_sha1, NID_sha256, NID_sha384, NID_sha512]
  /// No message needs more; each costs time before anything is known of the sender.
  private static let maxCertificates: Int32 = 16

  private static func check(_ signer: OpaquePointer) throws(Refusal) {
    var algorithm: UnsafeMutablePointer<X509_ALGOR>?
    CMS_SignerInfo_get0_algs(signer, nil, nil, &algorithm, nil)
    guard let algorithm, digests.contains(OBJ_obj2nid(algorithm.pointee.algorithm)) else {
      throw .malformed("the signature is over another digest than SHA-1 or SHA-2")
    }
  }

  private static func certificates(of cms: OpaquePointer) throws(Refusal) -> [Certificate] {
    guard let stack = CMS_get1_certs(cms) else { throw .malformed("the message has no certificates") }
    defer { OPENSSL_sk_free(stack) }
    guard OPENSSL_sk_num(stack) <= maxCertificates else {
      for index in 0..<OPENSSL_sk_num(stack) { X509_free(OPENSSL_sk_value(stack, index).map { OpaquePointer($0) }) }
      throw .malformed("more than \(maxCertificates) certificates")
    }
    var certificates: [Certificate] = []
    var areReadable = true
    for index in 0..<max(0, OPENSSL_sk_num(stack)) {
      guard let pointer = OPENSSL_sk_value(stack, index) else { continue }
      // Takes each reference, also when it cannot be read: all of them are the caller's.
      if let certificate = try? Certificate(takingOwnershipOf: OpaquePointer(pointer)) {
        certificates.append(certificate)
      } else {
        areReadable = false
      }
    }
    guard areReadable else { throw .malformed("an enclosed certificate cannot be read") }
    return certificates
  }
}
