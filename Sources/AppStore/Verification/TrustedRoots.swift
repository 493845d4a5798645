public import Crypto
import FoundationEssentials

/// The root certificates at which chains may end.
public struct TrustedRoots: Sendable {
  /// A file that does not hold certificates one after the other.
  public struct Unreadable: Error, CustomStringConvertible {
    /// The mistake, with the name of the file.
    public let description: String
  }

  /// The roots.
  public let certificates: [Certificate]
  /// Certificates for the signing of code. StoreKit tests in Xcode sign receipts with them.
  ///
  /// They are the signers themselves and never roots: everybody who has Xcode has their keys.
  public let xcodeSigners: [Certificate]

  /// Trusts the given certificates. There must be at least one.
  public init(_ certificates: [Certificate]) {
    precondition(!certificates.isEmpty, "Without a root nothing could ever be accepted.")
    self.certificates = certificates.filter { !$0.isForCodeSigning }
    xcodeSigners = certificates.filter(\.isForCodeSigning)
  }

  /// Apple Root CA alone. Receipts end there.
  public static let appleForReceipts = TrustedRoots([apple.certificates[0]])

  /// Apple Root CA, Apple Root CA - G2 and Apple Root CA - G3, as they are built in.
  public static let apple: TrustedRoots = {
    let certificates = AppleRootCertificates.all.map { text in
      guard let der = Base64.decode(text), let certificate = try? Certificate(der: der) else {
        preconditionFailure("A built-in root certificate is damaged.")
      }
      return certificate
    }
    return TrustedRoots(certificates)
  }()

  /// Reads the files that a person has named; `nil` for none, and then Apple's own roots count.
  public static func named(_ files: [String]) throws(Unreadable) -> TrustedRoots? {
    files.isEmpty ? nil : try TrustedRoots(files: files)
  }

  /// Reads files that replace the built-in roots. Each file holds one DER certificate, or PEM with one or more.
  public init(files: [String]) throws(Unreadable) {
    var certificates: [Certificate] = []
    for file in files {
      guard let data = try? Data(contentsOf: URL(filePath: file)) else {
        throw Unreadable(description: "\(file) cannot be read")
      }
      do {
        certificates += try Certificate.all(in: Array(data))
      } catch {
        throw Unreadable(description: "\(file) is neither a DER nor a PEM certificate")
      }
    }
    guard !certificates.isEmpty else { throw Unreadable(description: "no root certificate is given") }
    self.init(certificates)
  }
}
