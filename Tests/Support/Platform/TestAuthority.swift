package import Crypto
import FoundationEssentials

/// A small authority like Apple's: a root, an intermediate and a leaf, and texts that the leaf's key signs. Tests can
/// make every detail wrong.
///
/// It writes the certificates as DER itself, because an honest tool does not issue such faults.
package struct TestAuthority {
  /// The details of a certificate.
  package struct Details {
    package var isCA: Bool?
    /// The bits of the key usage extension; `nil` leaves it out.
    package var keyUsage: UInt8?
    package var markerOID: [UInt8]?
    package var notBefore = "20240101000000Z"
    package var notAfter = "20340101000000Z"

    package init(isCA: Bool? = nil, keyUsage: UInt8? = nil, markerOID: [UInt8]? = nil) {
      (self.isCA, self.keyUsage, self.markerOID) = (isCA, keyUsage, markerOID)
    }

    package static let root = Details(isCA: true, keyUsage: certificateSigning)
    package static let intermediate = Details(isCA: true, keyUsage: certificateSigning, markerOID: intermediateMarker)
    package static let leaf = Details(isCA: false, keyUsage: digitalSignature, markerOID: leafMarker)
  }

  package static let digitalSignature: UInt8 = 0x80
  package static let keyEncipherment: UInt8 = 0x20
  package static let certificateSigning: UInt8 = 0x04
  /// 1.2.840.113635.100.6.11.1
  package static let leafMarker: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x63, 0x64, 0x06, 0x0b, 0x01]
  /// 1.2.840.113635.100.6.2.1
  package static let intermediateMarker: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x63, 0x64, 0x06, 0x02, 0x01]
  /// A date within the default validity of all certificates: 2024-07-03.
  package static let signedDate: Int64 = 1_720_000_000_000

  package let leafKey: P256PrivateKey
  package let root: [UInt8]
  package let intermediate: [UInt8]
  package let leaf: [UInt8]

  package init(
    root: Details = .root, intermediate: Details = .intermediate, leaf: Details = .leaf, leafKeyPEM: String? = nil,
    leafIsIssuedByRoot: Bool = false
  ) throws {
    let (rootKey, intermediateKey) = (try P256PrivateKey.generate(), try P256PrivateKey.generate())
    leafKey = try P256PrivateKey.generate()
    self.root = try Self.certificate(root, "Root", rootKey.publicKey.pem, issuer: "Root", rootKey)
    self.intermediate = try Self.certificate(
      intermediate, "Intermediate", intermediateKey.publicKey.pem, issuer: "Root", rootKey)
    self.leaf = try Self.certificate(
      leaf, "Leaf", leafKeyPEM ?? leafKey.publicKey.pem, issuer: leafIsIssuedByRoot ? "Root" : "Intermediate",
      leafIsIssuedByRoot ? rootKey : intermediateKey)
  }

  /// Returns a JWS like Apple's; tests can change the header and the certificates.
  package func sign(
    _ payload: String, x5c: [[UInt8]]? = nil, header: [String: String] = ["alg": "\"ES256\""],
    key: P256PrivateKey? = nil
  ) throws -> String {
    let certificates = (x5c ?? [leaf, intermediate, root]).map { "\"\(Base64.encode($0))\"" }
    var header = header
    header["x5c"] = "[\(certificates.joined(separator: ","))]"
    let headerText = header.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
    let signed = [Array("{\(headerText)}".utf8), Array(payload.utf8)].map(Base64URL.encode).joined(separator: ".")
    let signature = try (key ?? leafKey).signature(for: Array(signed.utf8))
    return signed + "." + Base64URL.encode(signature)
  }

  package func sign(_ payload: some Encodable) throws -> String {
    try sign(String(decoding: try JSONEncoder().encode(payload), as: UTF8.self))
  }

  // MARK: DER

  private static func certificate(
    _ details: Details, _ name: String, _ publicKeyPEM: String, issuer: String, _ issuerKey: P256PrivateKey
  ) throws -> [UInt8] {
    let ecdsaWithSHA256 = der(0x30, der(0x06, [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]))
    let lines = publicKeyPEM.split(separator: "\n").filter { !$0.hasPrefix("-") }
    guard let publicKey = Base64.decode(lines.joined()) else { throw CryptoError(operation: "test", cause: "PEM") }
    let validity = der(0x30, der(0x18, Array(details.notBefore.utf8)) + der(0x18, Array(details.notAfter.utf8)))
    let serial = der(0x02, [0x01] + (try secureRandomBytes(8)))
    let fields =
      der(0xa0, der(0x02, [2])) + serial + ecdsaWithSHA256 + distinguishedName(issuer) + validity
      + distinguishedName(name) + publicKey + der(0xa3, der(0x30, extensions(details)))
    let toBeSigned = der(0x30, fields)
    let raw = try issuerKey.signature(for: toBeSigned)
    let signature = der(0x30, integer(raw.prefix(32)) + integer(raw.suffix(32)))
    return der(0x30, toBeSigned + ecdsaWithSHA256 + der(0x03, [0] + signature))
  }

  private static func extensions(_ details: Details) -> [UInt8] {
    var extensions: [UInt8] = []
    if let isCA = details.isCA {
      let value = der(0x30, isCA ? der(0x01, [0xff]) : [])
      extensions += der(0x30, der(0x06, [0x55, 0x1d, 0x13]) + der(0x01, [0xff]) + der(0x04, value))
    }
    if let bits = details.keyUsage {
      let value = der(0x03, [UInt8(bits.trailingZeroBitCount), bits])
      extensions += der(0x30, der(0x06, [0x55, 0x1d, 0x0f]) + der(0x01, [0xff]) + der(0x04, value))
    }
    if let oid = details.markerOID { extensions += der(0x30, der(0x06, oid) + der(0x04, [0x05, 0x00])) }
    return extensions
  }

  private static func distinguishedName(_ name: String) -> [UInt8] {
    der(0x30, der(0x31, der(0x30, der(0x06, [0x55, 0x04, 0x03]) + der(0x0c, Array(name.utf8)))))
  }

  private static func integer(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    let digits = Array(bytes.drop { $0 == 0 })
    return der(0x02, (digits.first ?? 0x80) >= 0x80 ? [0] + digits : digits)
  }

  private static func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    switch content.count {
    case ..<128: [tag, UInt8(content.count)] + content
    case ..<256: [tag, 0x81, UInt8(content.count)] + content
    default: [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 255)] + content
    }
  }
}
