import AppStore
import Crypto
import TestSupport
import Testing

/// Certificates, read from Apple's roots and from an authority of our own.
struct CertificateTests {
  @Test func fields() throws {
    let root = try #require(TrustedRoots.apple.certificates.first { $0.subject.contains("G3") })
    #expect(root.subject == "C=US,O=Apple Inc.,OU=Apple Certification Authority,CN=Apple Root CA - G3")
    #expect(root.issuer == root.subject)
    #expect(root.isCA && root.allowsCertificateSigning)
    // 2014-04-30 18:19:06 to 2039-04-30 18:19:06.
    #expect(root.notBefore == 1_398_881_946_000)
    #expect(root.notAfter == 2_187_800_346_000)
    #expect(Hex.encode(root.sha256) == "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179")
    #expect(root.p256PublicKey() == nil)
    #expect(root.hasExtension("2.5.29.19"))
    #expect(!root.hasExtension("1.2.840.113635.100.6.11.1"))
    #expect(!root.hasExtension("not an OID"))
    #expect(try Certificate(pem: root.pem).der == root.der)
  }

  @Test func builtInRoots() {
    #expect(
      TrustedRoots.apple.certificates.map { Hex.encode($0.sha256).prefix(8) } == ["b0b1730e", "c2b9b042", "63343abf"])
  }

  @Test func unreadable() throws {
    let der = TrustedRoots.apple.certificates[2].der
    let trailing = #expect(throws: CryptoError.self) { try Certificate(der: der + [0]) }
    #expect(trailing?.cause == "1 bytes after the certificate")
    #expect(throws: CryptoError.self) { try Certificate(der: Array(der.dropLast())) }
    #expect(throws: CryptoError.self) { try Certificate(der: []) }
    #expect(throws: CryptoError.self) { try Certificate(pem: "") }
  }

  /// Valid from the first second to the last, and at no other time.
  @Test func validity() throws {
    let authority = try TestAuthority()
    let chain = CertificateChain(
      leaf: try Certificate(der: authority.leaf), intermediate: try Certificate(der: authority.intermediate))
    let roots = [try Certificate(der: authority.root)]
    let (start, end) = (chain.leaf.notBefore, chain.leaf.notAfter)
    #expect(try chain.verify(against: roots, at: start).der == authority.root)
    #expect(try chain.verify(against: roots, at: end - 1).der == authority.root)
    for date in [start - 1, end, Int64.min, Int64.max, -1] {
      #expect(throws: CertificateChain.Untrusted.self) { try chain.verify(against: roots, at: date) }
    }
  }

  @Test func otherRoots() throws {
    let authority = try TestAuthority()
    let other = try TestAuthority()
    let chain = CertificateChain(
      leaf: try Certificate(der: authority.leaf), intermediate: try Certificate(der: authority.intermediate))
    // The same names, but other keys.
    for roots in [[try Certificate(der: other.root)], TrustedRoots.apple.certificates, [], [chain.intermediate]] {
      #expect(throws: CertificateChain.Untrusted.self) {
        try chain.verify(against: roots, at: TestAuthority.signedDate)
      }
    }
  }
}
