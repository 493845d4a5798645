import Formats

/// The purpose of one certificate: its name, its life and its extensions.
///
/// It is only for the simulator and for tests.
public struct CertificateProfile: Sendable {
  /// The permitted uses of the certificate's key.
  public enum Use: Equatable, Sendable {
    /// Sign certificates, with at most this many authorities below; `nil` means no limit.
    case authority(pathLength: Int?)
    /// Sign data, as the leaf of Apple's chain does.
    case signing
    /// Speak for a server under these DNS names and IP addresses.
    case tlsServer(names: [String])
    /// Speak for a client.
    case tlsClient
  }

  /// The common name.
  public var commonName: String
  /// The permitted use of the key.
  public var use: Use
  /// Object identifiers of extensions that only have to be present. Their value is ASN.1 NULL.
  public var markers: [String]
  /// The start of validity relative to now. It lies in the past, because clocks differ.
  public var notBefore: Duration
  /// The end of validity relative to now.
  public var notAfter: Duration

  /// Creates a profile that is valid from yesterday on, for ten years.
  public init(
    commonName: String, use: Use, markers: [String] = [], notBefore: Duration = .seconds(-86_400),
    notAfter: Duration = .seconds(3650 * 86_400)
  ) {
    self.commonName = commonName
    self.use = use
    self.markers = markers
    self.notBefore = notBefore
    self.notAfter = notAfter
  }

  /// The extensions in OpenSSL's configuration syntax, in the order of writing.
  var extensions: [(name: String, value: String)] {
    switch use {
    case .authority(let pathLength):
      let limit = pathLength.map { ", pathlen:\($0)" } ?? ""
      return [("basicConstraints", "critical, CA:TRUE\(limit)"), ("keyUsage", "critical, keyCertSign, cRLSign")]
    case .signing:
      return [("basicConstraints", "critical, CA:FALSE"), ("keyUsage", "critical, digitalSignature")]
    case .tlsClient:
      return [
        ("basicConstraints", "critical, CA:FALSE"), ("keyUsage", "critical, digitalSignature"),
        ("extendedKeyUsage", "clientAuth"),
      ]
    case .tlsServer(let names):
      return [
        ("basicConstraints", "critical, CA:FALSE"), ("keyUsage", "critical, digitalSignature"),
        ("extendedKeyUsage", "serverAuth"),
        ("subjectAltName", names.map { Self.isAddress($0) ? "IP:\($0)" : "DNS:\($0)" }.joined(separator: ", ")),
      ]
    }
  }

  private static func isAddress(_ name: String) -> Bool {
    name.contains(":") || name.utf8.allSatisfy { $0 == UInt8(ascii: ".") || $0.isASCIIDigit }
  }
}
