import COpenSSL

/// A signed message after RFC 5652 (PKCS #7) with its content and exactly one signer.
///
/// The initializer has checked the signature. This says nothing about the signer's identity, because the certificate
/// came with the message.
public struct CMSSignedData: Sendable {
  /// Why a message is refused.
  public enum Refusal: Error, Sendable, Equatable {
    /// The bytes are not such a message; the reason.
    case malformed(String)
    /// The key of the enclosed signer did not sign the content.
    case signatureInvalid
  }

  /// The signed content.
  public let content: [UInt8]
  /// The certificate of the signer.
  public let signer: Certificate
  /// All enclosed certificates with the signer's among them, in no order.
  public let certificates: [Certificate]

  /// Reads a message in BER or DER and checks its signature. Further bytes after the message are an error.
  public init(_ bytes: [UInt8]) throws(Refusal) {
    defer { ERR_clear_error() }
    let (parsed, rest) = bytes.withUnsafeBufferPointer { buffer in
      var start = buffer.baseAddress
      let parsed = d2i_CMS_ContentInfo(nil, &start, buffer.count)
      return (parsed, parsed == nil ? 0 : buffer.count - (start.map { $0 - (buffer.baseAddress ?? $0) } ?? 0))
    }
    guard let cms = parsed else { throw .malformed("not a CMS message") }
    defer { CMS_ContentInfo_free(cms) }
    guard rest == 0 else { throw .malformed("\(rest) bytes after the message") }
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
    // `X509_up_ref` takes a reference for the certificate, since the message owns its own.
    guard let found, X509_up_ref(found) == 1 else { throw .malformed("the signer's certificate is missing") }
    guard let signer = try? Certificate(takingOwnershipOf: found) else {
      throw .malformed("the signer's certificate cannot be read")
    }
    self.signer = signer
  }

  /// The digests that a signature may use. CMS itself would also accept MD5.
  private static let digests = [NID_sha1, NID_sha256, NID_sha384, NID_sha512]
  /// No message needs more certificates, and each costs time while the sender is still unknown.
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
      // The certificate takes over the reference even if it cannot be read: the caller owns all of them.
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
