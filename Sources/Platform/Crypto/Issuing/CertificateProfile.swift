import Formats

/// What one certificate is for: its name, its life and its extensions.
///
/// For the simulator and for tests only.
public struct CertificateProfile: Sendable {
  /// What the certificate's key may do.
  public enum Use: Equatable, Sendable {
    /// Sign certificates, with at most this many authorities below; `nil` is no limit.
    case authority(pathLength: Int?)
    /// Sign data, as the leaf of Apple's chain does.
    case signing
    /// Speak for a server under these DNS names and IP addresses.
    case tlsServer(names: [String])
  }

  /// The common name.
  public var commonName: String
  /// What the key may do.
  public var use: Use
  /// Object identifiers of extensions that are only there to be there; their value is ASN.1 NULL.
  public var markers: [String]
  /// From when it is valid, relative to now; in the past, because clocks differ.
  public var notBefore: Duration
  /// Until when it is valid, relative to now.
  public var notAfter: Duration

  /// Creates a profile: valid from yesterday on, for ten years.
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

  /// The extensions in OpenSSL's configuration syntax, in the order they are written.
  var extensions: [(name: String, value: String)] {
    switch use {
    case .authority(let pathLength):
      let limit = pathLength.map { ", pathlen:\($0)" } ?? ""
      return [("basicConstraints", "critical, CA:TRUE\(limit)"), ("keyUsage", "critical, keyCertSign, cRLSign")]
    case .signing:
      return [("basicConstraints", "critical, CA:FALSE"), ("keyUsage", "critical, digitalSignature")]
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
