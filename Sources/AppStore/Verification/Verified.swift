/// A payload whose signature, chain, app and environment are right, with the bytes that prove it.
///
/// Only the verifier makes one.
public struct Verified<Payload: Sendable>: Sendable {
  /// What Apple signed, decoded.
  public let payload: Payload
  /// The header as Apple signed it: base64url text, without the point behind it.
  public let signedHeader: [UInt8]
  /// The payload's JSON, as Apple wrote it.
  public let json: [UInt8]
  /// r‖s.
  public let signature: [UInt8]

  /// - Parameter cache: has the header of whatever was verified a moment ago.
  init(_ checked: SignedDataVerifier.Checked<Payload>, sharing cache: VerifiedChainCache) {
    payload = checked.payload
    let signed = checked.jws.signedHeader
    signedHeader = cache.header(signed)?.withoutPoint ?? Array(signed.dropLast())
    json = checked.jws.payload
    signature = checked.jws.signature
  }
}
