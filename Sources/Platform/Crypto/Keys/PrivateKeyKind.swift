import COpenSSL

/// The kind of a private key, for somebody who took the file of another key: `an RSA key`.
public struct PrivateKeyKind: Sendable, Equatable, CustomStringConvertible {
  public let description: String

  /// Reads an unencrypted private key in PEM; `nil` if OpenSSL finds none.
  public init?(pem: String) {
    guard let pointer = MemoryBIO.reading(pem, { PEM_read_bio_PrivateKey($0, nil, noPassword, nil) }) else {
      // The next call must not find an error of this one.
      ERR_clear_error()
      return nil
    }
    let handle = KeyHandle(takingOwnershipOf: pointer)
    switch handle.algorithm {
    case EVP_PKEY_RSA: description = "an RSA key"
    case EVP_PKEY_ED25519: description = "an Ed25519 key"
    case EVP_PKEY_EC:
      let names = ["prime256v1": "a P-256 key", "secp384r1": "a P-384 key", "secp521r1": "a P-521 key"]
      description = handle.curve.flatMap { names[$0] } ?? "a key on another curve"
    default: description = "another kind of key"
    }
  }
}
