import COpenSSL

/// The part that all TLS sessions of one server share: its certificate, its key and the protocols.
public final class TLSServerContext: @unchecked Sendable {
  // Sendable is right: only `init` changes the SSL_CTX, and OpenSSL counts its references atomically. OpenSSL also
  // locks the parts that sessions write to, and the protocol list never changes.
  let pointer: OpaquePointer
  private let protocols: ProtocolList

  /// Creates a context that accepts TLS 1.2 and later.
  ///
  /// - Parameters:
  ///   - certificateChain: PEM blocks, the server's own certificate first.
  ///   - privateKey: the PEM block of its key.
  ///   - applicationProtocols: ALPN names in the server's order of preference. The server refuses a client that offers
  ///     none of them.
  public init(
    certificateChain: String, privateKey: String, applicationProtocols: [String] = ["h2"]
  ) throws(CryptoError) {
    guard let pointer = SSL_CTX_new(TLS_server_method()) else { throw .taken(during: "create a TLS context") }
    self.pointer = pointer
    protocols = ProtocolList(applicationProtocols)

    // These two are macros over SSL_CTX_ctrl, which Swift does not see. Sessions resume by ticket, which needs no
    // memory here, so the cache is off.
    SSL_CTX_ctrl(pointer, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
    SSL_CTX_ctrl(pointer, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
    SSL_CTX_set_options(pointer, noRenegotiation)
    // Unretained is right: `protocols` lives as long as the context, and every session holds the context.
    SSL_CTX_set_alpn_select_cb(pointer, onSelectProtocol, Unmanaged.passUnretained(protocols).toOpaque())

    try use(chain: certificateChain)
    try use(key: privateKey)
  }

  deinit {
    SSL_CTX_free(pointer)
  }

  private func use(chain: String) throws(CryptoError) {
    let operation = "read a certificate chain"
    var count = 0
    let isUsable = MemoryBIO.reading(chain) { bio -> Bool? in
      while let certificate = PEM_read_bio_X509(bio, nil, noPassword, nil) {
        defer { X509_free(certificate) }
        let result =
          count == 0
          ? Int(SSL_CTX_use_certificate(pointer, certificate))
          // This is SSL_CTX_add1_chain_cert, a macro. It takes a reference of its own.
          : SSL_CTX_ctrl(pointer, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate))
        guard result == 1 else { return nil }
        count += 1
      }
      return count > 0 ? true : nil
    }
    guard isUsable != nil else { throw .taken(during: operation) }
    // The end of the text is an error for the reader. The next call must not find it.
    ERR_clear_error()
  }

  private func use(key: String) throws(CryptoError) {
    let operation = "use the private key of a certificate"
    let isUsable = MemoryBIO.reading(key) { bio -> Bool? in
      guard let key = PEM_read_bio_PrivateKey(bio, nil, noPassword, nil) else { return nil }
      defer { EVP_PKEY_free(key) }
      return SSL_CTX_use_PrivateKey(pointer, key) == 1 && SSL_CTX_check_private_key(pointer) == 1 ? true : nil
    }
    guard isUsable != nil else { throw .taken(during: operation) }
  }
}

/// `SSL_OP_NO_RENEGOTIATION`, a macro that Swift does not see. It keeps a client from making the server work for
/// nothing.
private let noRenegotiation: UInt64 = 1 << 30

private func onSelectProtocol(
  _ session: OpaquePointer?, _ selected: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
  _ selectedCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredCount: UInt32,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let protocols = Unmanaged<ProtocolList>.fromOpaque(context!).takeUnretainedValue()
  let offered = UnsafeBufferPointer(start: offered, count: Int(offeredCount))
  guard let range = protocols.select(from: offered) else { return SSL_TLSEXT_ERR_ALERT_FATAL }
  selected!.pointee = offered.baseAddress! + range.lowerBound
  selectedCount!.pointee = UInt8(range.count)
  return SSL_TLSEXT_ERR_OK
}
