import AppStore
import Crypto

/// An authority like Apple's that signs made-up inputs, so that the fuzzer gets behind the check of the signature.
struct FuzzAuthority {
  let signedData: SignedDataVerifier
  let receipts: ReceiptVerifier
  private let chain: [CertificateAuthority]
  private let signer: PayloadSigner

  init() {
    do {
      let root = try CertificateAuthority.root(commonName: "Root")
      let intermediate = try root.issueAuthority(
        CertificateProfile(
          commonName: "Intermediate", use: .authority(pathLength: 0), markers: ["1.2.840.113635.100.6.2.1"]))
      let leaf = try intermediate.issueAuthority(
        CertificateProfile(commonName: "Leaf", use: .signing, markers: ["1.2.840.113635.100.6.11.1"]), curve: .p256)
      chain = [leaf, intermediate, root]
      signer = try PayloadSigner(leaf: leaf, intermediate: intermediate, root: root)
      let roots = TrustedRoots([try Certificate(der: root.certificate.der)])
      signedData = SignedDataVerifier(roots: roots)
      receipts = ReceiptVerifier(roots: roots)
    } catch {
      fatalError("no authority: \(error)")
    }
  }

  /// Returns a JWS of a payload.
  func jws(_ payload: [UInt8]) -> String {
    guard let text = try? signer.sign(payload) else { fatalError("no signature") }
    return text
  }

  /// Returns a receipt's signed message of a content.
  func receipt(_ content: [UInt8]) -> [UInt8] {
    guard let message = try? chain[0].signedMessage(content, enclosing: chain.dropFirst().map(\.certificate)) else {
      fatalError("no signature")
    }
    return message
  }
}
