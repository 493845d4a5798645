import AppStore
import Crypto

/// An authority like Apple's that signs what the fuzzer makes up, so that it gets behind the check of the signature.
struct FuzzAuthority {
  let signedData: SignedDataVerifier
  let receipts: ReceiptVerifier
  private let chain: [CertificateAuthority]
  private let key: P256PrivateKey
  private let header: String

  init() {
    do {
      let root = try CertificateAuthority.root(commonName: "Root")
      let intermediate = try root.issueAuthority(
        CertificateProfile(
          commonName: "Intermediate", use: .authority(pathLength: 0), markers: ["1.2.840.113635.100.6.2.1"]))
      let leaf = try intermediate.issueAuthority(
        CertificateProfile(commonName: "Leaf", use: .signing, markers: ["1.2.840.113635.100.6.11.1"]), curve: .p256)
      chain = [leaf, intermediate, root]
      key = try P256PrivateKey(pem: leaf.key.pem)
      let x5c = chain.map { "\"\(Base64.encode($0.certificate.der))\"" }.joined(separator: ",")
      header = Base64URL.encode(Array("{\"alg\":\"ES256\",\"x5c\":[\(x5c)]}".utf8))
      let roots = TrustedRoots([try Certificate(der: root.certificate.der)])
      signedData = SignedDataVerifier(roots: roots)
      receipts = ReceiptVerifier(roots: roots)
    } catch {
      fatalError("no authority: \(error)")
    }
  }

  /// Returns a JWS of a payload.
  func jws(_ payload: [UInt8]) -> String {
    let message = header + "." + Base64URL.encode(payload)
    guard let signature = try? key.signature(for: Array(message.utf8)) else { fatalError("no signature") }
    return message + "." + Base64URL.encode(signature)
  }

  /// Returns a receipt's signed message of a content.
  func receipt(_ content: [UInt8]) -> [UInt8] {
    guard let message = try? chain[0].signedMessage(content, enclosing: chain.dropFirst().map(\.certificate)) else {
      fatalError("no signature")
    }
    return message
  }
}
