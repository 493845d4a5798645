import Crypto

/// A signed payload without its certificates, which are the same in every JWS and twenty times as long.
struct SealedPayload: Equatable, Sendable {
  var payload: [UInt8]
  var signature: [UInt8]
}

extension StoreSigner {
  /// Signs a payload, and keeps what differs from other payloads.
  func seal(_ payload: [UInt8]) throws -> SealedPayload {
    let jws = try sign(payload)
    let signature = jws.lastIndex(of: ".").flatMap { Base64URL.decode(jws[jws.index(after: $0)...]) }
    return SealedPayload(payload: payload, signature: signature ?? [])
  }

  /// Returns the JWS of a sealed payload: the same text at every call.
  func jws(_ sealed: SealedPayload) -> String {
    "\(header).\(Base64URL.encode(sealed.payload)).\(Base64URL.encode(sealed.signature))"
  }
}
