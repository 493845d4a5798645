/// Makes compact JWS with one chain of certificates.
///
/// It is only for the simulator, benchmarks and tests.
public struct PayloadSigner: Sendable {
  private let key: P256PrivateKey
  /// The encoded header with its dot. It depends only on the chain.
  private let header: [UInt8]

  /// Creates a signer with the leaf's key. All three certificates go into the header.
  public init(leaf: CertificateAuthority, intermediate: CertificateAuthority, root: CertificateAuthority) throws {
    key = try P256PrivateKey(pem: leaf.key.pem)
    // RFC 7515: the certificates are in plain Base64, and the rest is in base64url. Base64 needs no escaping in JSON.
    let chain = [leaf, intermediate, root].map { "\"\(Base64.encode($0.certificate.der))\"" }.joined(separator: ",")
    header = Array((Base64URL.encode(Array("{\"alg\":\"ES256\",\"x5c\":[\(chain)]}".utf8)) + ".").utf8)
  }

  /// Returns the JWS of a payload.
  public func sign(_ payload: [UInt8]) throws -> String {
    let message = header + Array(Base64URL.encode(payload).utf8)
    return String(decoding: message, as: UTF8.self) + "." + Base64URL.encode(try key.signature(for: message))
  }

  /// Returns the JWS of a payload with a change after the signature.
  public func signAndTamper(_ payload: [UInt8]) throws -> String {
    let parts = try sign(payload).split(separator: ".")
    let changed = payload.dropLast() + Array(",\"offerIdentifier\":\"tampered\"}".utf8)
    return "\(parts[0]).\(Base64URL.encode(Array(changed))).\(parts[2])"
  }
}
