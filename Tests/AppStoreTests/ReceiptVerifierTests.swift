import Crypto
import Domain
import EventLoop
import Formats
import Observability
import Testing

@testable import AppStore

/// Receipts that the verifier refuses. Each has one fault, and everything else is right.
struct ReceiptVerifierTests {
  /// A chain like Apple's with changeable details, and receipts that it signs.
  private struct Authority {
    let root: CertificateAuthority
    let intermediate: CertificateAuthority
    let signer: CertificateAuthority

    init(leafMarkers: [String] = ["1.2.840.113635.100.6.11.1"], use: CertificateProfile.Use = .signing) throws {
      root = try CertificateAuthority.root(commonName: "Root")
      intermediate = try root.issueAuthority(
        CertificateProfile(commonName: "Intermediate", use: .authority(pathLength: 0)))
      signer = try intermediate.issueAuthority(
        CertificateProfile(commonName: "Signer", use: use, markers: leafMarkers), curve: .p256)
    }

    var verifier: ReceiptVerifier {
      get throws { ReceiptVerifier(roots: TrustedRoots([try Certificate(der: root.certificate.der)])) }
    }

    func sign(_ content: [UInt8]) throws -> [UInt8] {
      try signer.signedMessage(content, enclosing: [intermediate.certificate, root.certificate])
    }
  }

  /// The creation date of all receipts here: now, because the tests make the certificates now as well.
  private static let created = unixMilliseconds() / 1000 * 1000
  private static let apps = AcceptedApps([AcceptedApps.App(bundleId: "com.example")])

  private func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    content.count < 128
      ? [tag, UInt8(content.count)] + content
      : [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 255)] + content
  }

  private func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
    der(0x30, der(0x02, [UInt8(type >> 8), UInt8(type & 255)]) + der(0x02, [1]) + der(0x04, value))
  }

  private func text(_ text: String) -> [UInt8] { der(0x0c, Array(text.utf8)) }
  private func date(_ text: String) -> [UInt8] { der(0x16, Array(text.utf8)) }
  private var creationDate: [UInt8] { attribute(12, date(rfc3339(milliseconds: Self.created))) }

  private var attributes: [[UInt8]] {
    [
      attribute(0, text("ProductionSandbox")), attribute(2, text("com.example")), attribute(3, text("7")),
      creationDate, attribute(9999, [1, 2, 3]),
      attribute(17, der(0x31, attribute(1702, text("product")) + attribute(1703, text("1")))),
    ]
  }

  private func reason(_ attributes: [[UInt8]]) throws -> Rejection.Reason? {
    let authority = try Authority()
    return try authority.verifier.receipt(
      authority.sign(der(0x31, attributes.flatMap { $0 })), expecting: Self.apps
    ).rejection?.reason
  }

  @Test func accepted() throws {
    let authority = try Authority()
    let message = try authority.sign(der(0x31, attributes.flatMap { $0 }))
    var expected = AppReceipt(bundleId: "com.example", receiptCreationDate: Self.created)
    expected.receiptType = "ProductionSandbox"
    expected.applicationVersion = "7"
    expected.inApp = [InAppReceipt(productId: "product", transactionId: "1")]
    #expect(try authority.verifier.receipt(message, expecting: Self.apps) == .accepted(expected))
    #expect(
      try authority.verifier.receipt(Base64.encode(message), expecting: Self.apps) == .accepted(expected))
    let folded = Base64.encode(message).enumerated().map { $0 % 64 == 63 ? "\($1)\r\n" : "\($1)" }.joined()
    #expect(try authority.verifier.receipt(folded, expecting: Self.apps) == .accepted(expected))
  }

  /// Property lists in the old style, as iOS 6 and earlier wrote them. In base64, some of them begin as a JWS does.
  @Test(arguments: [
    "{\"signature\" = \"AsB=\"; \"purchase-info\" = \"ewo=\"; }", "{\n\t\"signature\" = \"AsB=\";\n}",
    "{ \"signature\"=\"AsB=\";}", "{\r\n  \"purchase-info\" = \"ewo=\";\r\n}", "  {\n\"pod\" = \"100\";}",
    "{\"signature\"\n=\n\"AsB=\";}", "{environment = Sandbox;}", "\u{feff}{\"signing-status\" = \"0\";}",
  ])
  func transactionReceipts(text: String) throws {
    let verifier = try Authority().verifier
    let base64 = Base64.encode(Array(text.utf8))
    let folded = base64.enumerated().map { $0 % 16 == 15 ? "\($1)\r\n" : "\($1)" }.joined()
    for form in [text, base64, folded, String(base64.prefix { $0 != "=" })] {
      #expect(verifier.receipt(form, expecting: Self.apps).rejection?.reason == .transactionReceipt, "\(form)")
      #expect(ReceiptVerifier.isTransactionReceipt(form))
    }
    #expect(verifier.receipt(Array(text.utf8), expecting: Self.apps).rejection?.reason == .transactionReceipt)
  }

  /// JSON, of which a JWS begins with an object, has a colon behind the name.
  @Test(arguments: [
    "", "{", "{\"", "{\"signature", "{\"signature\"", "{\"\" = 1;}", "{= 1;}", "{\"signature\": \"AsB=\"}", "[]",
    "{\"alg\":\"ES256\"}", "signature = 1", "{\"a b\" : 1}", "\u{feff}",
  ])
  func otherTexts(text: String) throws {
    let base64 = Base64.encode(Array(text.utf8))
    #expect(!ReceiptVerifier.isTransactionReceipt(text) && !ReceiptVerifier.isTransactionReceipt(base64))
    let reason = try Authority().verifier.receipt(base64, expecting: Self.apps).rejection?.reason
    #expect(reason == (base64.hasPrefix("eyJ") ? .kindMismatch : .malformed))
  }

  @Test func signers() throws {
    let content = der(0x31, attributes.flatMap { $0 })
    let (authority, other) = (try Authority(), try Authority())
    func reason(_ message: [UInt8]) throws -> Rejection.Reason? {
      try authority.verifier.receipt(message, expecting: Self.apps).rejection?.reason
    }
    // Same names, other keys.
    #expect(try reason(other.sign(content)) == .chainUntrusted)
    #expect(try reason(other.signer.signedMessage(content, enclosing: [authority.intermediate.certificate])) != nil)
    // The first has no intermediate. The key that signs the second may only issue certificates.
    #expect(try reason(authority.signer.signedMessage(content, enclosing: [])) == .chainUntrusted)
    #expect(
      try reason(authority.intermediate.signedMessage(content, enclosing: [authority.root.certificate])) != nil)
    // The pinned root itself must not sign receipts.
    #expect(try reason(authority.root.signedMessage(content, enclosing: [])) == .chainUntrusted)
    let unmarked = try Authority(leafMarkers: [])
    #expect(
      try unmarked.verifier.receipt(unmarked.sign(content), expecting: Self.apps).rejection?.reason
        == .markerOIDMissing)
    let message = try authority.sign(content)
    #expect(try reason(message + [0]) == .malformed)
    #expect(try reason(Array(message.dropLast())) == .malformed)
    #expect(try reason([]) == .malformed && reason([0x30, 0x80]) == .malformed)
  }

  @Test func datesOutsideTheChain() throws {
    for text in ["2016-11-21T10:00:00Z", "2226-11-21T10:00:00Z"] {
      var changed = attributes
      changed[3] = attribute(12, date(text))
      #expect(try reason(changed) == .chainUntrusted)
    }
  }

  @Test func content() throws {
    func without(_ index: Int) -> [[UInt8]] {
      var changed = attributes
      changed.remove(at: index)
      return changed
    }
    #expect(try reason(attributes) == nil)
    #expect(try reason(without(1)) == .bundleIdMismatch)
    #expect(try reason(without(3)) == .dateMissing)
    #expect(try reason(without(0)) == nil)
    // An attribute that the verifier reads must occur exactly once; any other may be repeated.
    #expect(try reason(attributes + [attribute(2, text("com.other"))]) == .malformed)
    #expect(try reason(attributes + [creationDate]) == .malformed)
    #expect(try reason(attributes + [attribute(9999, [])]) == nil)
    #expect(try reason(attributes + [attribute(17, der(0x31, []))]) == nil)
    #expect(try reason(attributes + [attribute(17, [0x30])]) == .malformed)
    #expect(try reason(attributes + [attribute(21, text("never"))]) == .malformed)
    #expect(try reason(attributes + [attribute(21, date(""))]) == nil)
    #expect(try reason(attributes + [[0x30, 0x80, 0, 0]]) == .malformed)
    #expect(try reason(attributes + [der(0x30, der(0x02, [1]))]) == .malformed)
    var unknown = attributes
    unknown[0] = attribute(0, text("Moon"))
    #expect(try reason(unknown) == .environmentMismatch)
    unknown[0] = attribute(0, text("Xcode"))
    #expect(try reason(unknown) == .environmentMismatch)
  }

  /// A receipt without a type may come from either environment, so the request must accept both.
  @Test func withoutType() throws {
    let authority = try Authority()
    let message = try authority.sign(der(0x31, attributes.dropFirst().flatMap { $0 }))
    for environment in [Environment.production, .sandbox] {
      let one = AcceptedApps([AcceptedApps.App(bundleId: "com.example", environments: [environment])])
      #expect(try authority.verifier.receipt(message, expecting: one).rejection?.reason == .environmentMismatch)
    }
    #expect(try authority.verifier.receipt(message, expecting: Self.apps).payload != nil)
  }

  /// U+212A (KELVIN SIGN) equals `K` as a Swift `String`.
  @Test func `a bundle id is its bytes`() throws {
    let authority = try Authority()
    let apps = AcceptedApps([AcceptedApps.App(bundleId: "com.example.Kiosk")])
    func reason(_ bundleId: String) throws -> Rejection.Reason? {
      let attributes = [attribute(0, text("ProductionSandbox")), attribute(2, text(bundleId)), creationDate]
      let receipt = try authority.sign(der(0x31, Array(attributes.joined())))
      return try authority.verifier.receipt(receipt, expecting: apps).rejection?.reason
    }
    #expect(try reason("com.example.Kiosk") == nil)
    #expect(try reason("com.example.\u{212A}iosk") == .bundleIdMismatch)
  }
}
