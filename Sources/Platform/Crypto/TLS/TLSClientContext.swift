import COpenSSL

/// The part that all TLS sessions of one client share: the trusted authorities and the protocols.
public final class TLSClientContext: @unchecked Sendable {
  // Sendable is right: only `init` changes the SSL_CTX, and OpenSSL counts its references atomically.
  let pointer: OpaquePointer

  /// Creates a context. It accepts TLS 1.2 and later, and refuses every server whose certificate it cannot verify.
  ///
  /// - Parameters:
  ///   - caFile: PEM blocks of the authorities to trust; `nil` means the system's.
  ///   - certificateFile: PEM blocks, the client's own certificate first; `nil` means that the client has none.
  ///   - privateKeyFile: the PEM block of its key.
  ///   - applicationProtocols: ALPN names in order of preference; empty for a protocol without such a name.
  public init(
    caFile: String?, certificateFile: String? = nil, privateKeyFile: String? = nil, applicationProtocols: [String]
  ) throws(CryptoError) {
    guard let pointer = SSL_CTX_new(TLS_client_method()) else { throw .taken(during: "create a TLS context") }
    self.pointer = pointer
    // This is a macro over SSL_CTX_ctrl, which Swift does not see.
    SSL_CTX_ctrl(pointer, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
    SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
    // As in libcurl, the session trusts every certificate in the file, even an authority that another authority has
    // signed.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(pointer), UInt(X509_V_FLAG_PARTIAL_CHAIN))
    let encoded = encodedProtocols(applicationProtocols)
    // In this call, unlike in all others, zero means success.
    guard SSL_CTX_set_alpn_protos(pointer, encoded, UInt32(encoded.count)) == 0 else {
      throw .taken(during: "offer protocols over TLS")
    }
    if let caFile {
      guard SSL_CTX_load_verify_file(pointer, caFile) == 1 else {
        throw .taken(during: "read the certificate authorities in \(caFile)")
      }
    } else {
      guard SSL_CTX_set_default_verify_paths(pointer) == 1 else {
        throw .taken(during: "read the system's certificate authorities")
      }
    }
    if let certificateFile { try use(certificateFile, privateKeyFile) }
  }

  deinit {
    SSL_CTX_free(pointer)
  }

  private func use(_ certificateFile: String, _ privateKeyFile: String?) throws(CryptoError) {
    SSL_CTX_set_default_passwd_cb(pointer, noPassword)
    guard SSL_CTX_use_certificate_chain_file(pointer, certificateFile) == 1 else {
      throw .taken(during: "read the certificate in \(certificateFile)")
    }
    guard let privateKeyFile, SSL_CTX_use_PrivateKey_file(pointer, privateKeyFile, SSL_FILETYPE_PEM) == 1,
      SSL_CTX_check_private_key(pointer) == 1
    else {
      throw .taken(during: "use the key in \(privateKeyFile ?? "no file") for the certificate in \(certificateFile)")
    }
  }
}
