import Crypto

/// The check of one signature: it names the signer, and whether Apple made the signer's certificate for this purpose.
///
/// The order matters. The signature comes first, because a chain costs twenty times as much and genuine chains are
/// public. A sender of unsigned data with a genuine chain must not make a worker verify the chain.
struct SignatureVerification: Sendable {
  /// The extension of leaf certificates that sign purchases.
  static let leafMarkerOID = "1.2.840.113635.100.6.11.1"
  /// The extension of Apple's intermediate authorities for developer services.
  static let intermediateMarkerOID = "1.2.840.113635.100.6.2.1"

  let roots: TrustedRoots
  let cache: VerifiedChainCache

  /// Checks signature and chain.
  ///
  /// `dateOfSigning` reads the date from the payload. It runs only after the signature turned out right.
  func check(_ jws: JSONWebSignature, dateOfSigning: () throws(Rejection) -> Int64) throws(Rejection) {
    if let known = cache.header(jws.signedHeader) {
      let digest = known.midstate.hash(followedBy: jws.signedPayload)
      guard known.entry.leafKey.isValidSignature(jws.signature, forDigest: digest) else { throw Self.signatureInvalid }
      return try Self.check(dateOfSigning(), isIn: known.entry.validity)
    }
    let certificates = try jws.header().certificates
    guard certificates.count == 3 else {
      throw Rejection(.chainLengthInvalid, "\(certificates.count) certificates instead of 3")
    }
    // The check ignores the third certificate: the roots are pinned, and even Apple's own test data carries another
    // root.
    let (leafText, intermediateText) = (certificates[0], certificates[1])
    let key = VerifiedChainCache.key(leaf: leafText, intermediate: intermediateText)
    if let entry = cache.entry(for: key) {
      try Self.checkSignature(of: jws, by: entry.leafKey)
      try Self.check(dateOfSigning(), isIn: entry.validity)
      cache.insert(entry, for: key, header: jws.signedHeader)
      return
    }
    let leaf = try Self.certificate(leafText, "leaf")
    let leafKey = try Self.signingKey(of: leaf)
    try Self.checkSignature(of: jws, by: leafKey)
    let date = try dateOfSigning()
    let intermediate = try Self.certificate(intermediateText, "intermediate")
    let validity = try validity(of: CertificateChain(leaf: leaf, intermediate: intermediate), at: date)
    cache.insert(
      VerifiedChainCache.Entry(leafKey: leafKey, validity: validity), for: key, header: jws.signedHeader)
  }

  /// Checks only that the enclosed certificate made the signature. This proves that the data is whole, and nothing
  /// more.
  func checkIntegrityOnly(_ jws: JSONWebSignature) throws(Rejection) {
    guard let text = try jws.header().certificates.first else {
      throw Rejection(.chainLengthInvalid, "there is no certificate")
    }
    try Self.checkSignature(of: jws, by: Self.signingKey(of: Self.certificate(text, "leaf")))
  }

  private func validity(of chain: CertificateChain, at date: Int64) throws(Rejection) -> Range<Int64> {
    let root: Certificate
    do {
      root = try chain.verify(against: roots.certificates, at: date)
    } catch {
      throw Rejection(.chainUntrusted, Self.text(of: error))
    }
    guard chain.leaf.hasExtension(Self.leafMarkerOID) else {
      throw Rejection(.markerOIDMissing, "the leaf certificate is not one for signing purchases")
    }
    guard chain.intermediate.hasExtension(Self.intermediateMarkerOID) else {
      throw Rejection(
        .markerOIDMissing, "the intermediate certificate has no marker of Apple's developer services")
    }
    let certificates = [chain.leaf, chain.intermediate, root]
    let start = certificates.map(\.notBefore).reduce(.min, max)
    let end = certificates.map(\.notAfter).reduce(.max, min)
    let validity = start..<max(start, end)
    try Self.check(date, isIn: validity)
    return validity
  }

  private static let signatureInvalid = Rejection(
    .signatureInvalid, "the leaf certificate's key did not sign this")

  private static func checkSignature(of jws: JSONWebSignature, by key: P256PublicKey) throws(Rejection) {
    let digest = SHA256Midstate(jws.signedHeader).hash(followedBy: jws.signedPayload)
    guard key.isValidSignature(jws.signature, forDigest: digest) else { throw signatureInvalid }
  }

  private static func check(_ date: Int64, isIn validity: Range<Int64>) throws(Rejection) {
    guard validity.contains(date) else {
      throw Rejection(.chainUntrusted, "the chain was not valid at the date of signing")
    }
  }

  private static func certificate(_ text: String, _ name: String) throws(Rejection) -> Certificate {
    guard let der = Base64.decode(text) else {
      throw Rejection(.certificateInvalid, "the \(name) certificate is not base64")
    }
    do {
      return try Certificate(der: der)
    } catch {
      throw Rejection(.certificateInvalid, "the \(name) certificate cannot be read: \(error.cause)")
    }
  }

  private static func signingKey(of leaf: Certificate) throws(Rejection) -> P256PublicKey {
    guard let key = leaf.p256PublicKey() else {
      throw Rejection(.certificateInvalid, "the leaf certificate's key is not on P-256")
    }
    return key
  }

  static func text(of untrusted: CertificateChain.Untrusted) -> String {
    switch untrusted {
    case .noValidPath(let reason): reason
    case .unexpectedPath: "the intermediate certificate is not between the leaf and a root"
    case .intermediateNotAuthority: "the intermediate certificate is not an authority"
    case .keyUsage: "a certificate's key may not be used for this"
    }
  }
}
