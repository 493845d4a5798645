import COpenSSL

/// One end of a TLS connection, without a socket. Its driver feeds bytes in and takes bytes out.
///
/// It is not `Sendable`: it belongs to the driver of the socket. Bytes to send may appear after every call, even after
/// a call that throws (the alert that tells the peer why).
public final class TLSSession {
  private let pointer: OpaquePointer
  /// The bytes that the peer sent; owned by `pointer`.
  private let incoming: OpaquePointer
  /// The bytes for the peer; owned by `pointer`.
  private let outgoing: OpaquePointer
  // OpenSSL's ALPN callback reads the server's context, so the context must live as long as the session.
  private let context: AnyObject

  /// Whether the handshake is complete, so that the session can write plaintext.
  public private(set) var isEstablished = false
  /// Whether the peer announced that it sends no more.
  public private(set) var isClosedByPeer = false

  /// Creates a server's session, which waits for the client's first bytes.
  public convenience init(accepting context: TLSServerContext) throws(CryptoError) {
    try self.init(context.pointer, of: context)
    SSL_set_accept_state(pointer)
  }

  /// Creates a client's session with a server of this name or numeric address.
  ///
  /// The server's certificate must carry that name or address. The first bytes are ready to send.
  public convenience init(connecting context: TLSClientContext, to host: String) throws(CryptoError) {
    try self.init(context.pointer, of: context)
    SSL_set_connect_state(pointer)
    // An address is not a name: OpenSSL looks for it among the certificate's addresses and does not send it (RFC 6066,
    // section 3).
    if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(pointer), host) != 1 {
      ERR_clear_error()
      let isSet =
        host.withCString {
          // SSL_set_tlsext_host_name is a macro.
          SSL_ctrl(
            pointer, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), UnsafeMutableRawPointer(mutating: $0)
          )
        } == 1 && SSL_set1_host(pointer, host) == 1
      guard isSet else { throw .taken(during: "expect a certificate of \(host)") }
    }
    try shakeHands()
  }

  private init(_ contextPointer: OpaquePointer, of context: AnyObject) throws(CryptoError) {
    let operation = "create a TLS session"
    guard let pointer = SSL_new(contextPointer) else { throw .taken(during: operation) }
    guard let incoming = BIO_new(BIO_s_mem()), let outgoing = BIO_new(BIO_s_mem()) else {
      SSL_free(pointer)
      throw .taken(during: operation)
    }
    SSL_set_bio(pointer, incoming, outgoing)
    self.context = context
    self.pointer = pointer
    self.incoming = incoming
    self.outgoing = outgoing
  }

  deinit {
    SSL_free(pointer)
  }

  /// The ALPN name that client and server agreed on, if any.
  public var applicationProtocol: String? {
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    SSL_get0_alpn_selected(pointer, &name, &count)
    guard let name else { return nil }
    return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
  }

  /// Takes bytes from the network and continues the handshake as far as they allow.
  public func receive(_ bytes: UnsafeRawBufferPointer) throws(CryptoError) {
    let operation = "receive over TLS"
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = UnsafeRawBufferPointer(rebasing: rest)
      ERR_clear_error()
      let taken = BIO_write(incoming, part.baseAddress, Int32(clamping: part.count))
      guard taken > 0 else { throw .taken(during: operation) }
      rest = rest.dropFirst(Int(taken))
    }
    if !isEstablished { try shakeHands() }
  }

  /// Continues the handshake as far as the peer's bytes allow.
  private func shakeHands() throws(CryptoError) {
    ERR_clear_error()
    let result = SSL_do_handshake(pointer)
    if result == 1 {
      isEstablished = true
    } else if SSL_get_error(pointer, result) != SSL_ERROR_WANT_READ {
      throw handshakeFailure()
    }
  }

  /// The error of a failed handshake: OpenSSL's reasons, and the defect of the peer's certificate.
  private func handshakeFailure() -> CryptoError {
    let error = CryptoError.taken(during: "shake hands over TLS")
    let verdict = SSL_get_verify_result(pointer)
    guard verdict != Int(X509_V_OK) else { return error }
    return CryptoError(
      operation: error.operation, cause: "\(String(cString: X509_verify_cert_error_string(verdict))): \(error.cause)")
  }

  /// Reads decrypted bytes and returns their number. Zero means that the session must receive more first.
  public func read(into buffer: UnsafeMutableRawBufferPointer) throws(CryptoError) -> Int {
    ERR_clear_error()
    let count = SSL_read(pointer, buffer.baseAddress, Int32(clamping: buffer.count))
    guard count <= 0 else { return Int(count) }
    switch SSL_get_error(pointer, count) {
    case SSL_ERROR_WANT_READ: return 0
    case SSL_ERROR_ZERO_RETURN:
      isClosedByPeer = true
      return 0
    default: throw .taken(during: "read over TLS")
    }
  }

  /// Encrypts bytes. The outgoing memory takes all of them at once.
  public func write(_ bytes: UnsafeRawBufferPointer) throws(CryptoError) {
    guard !bytes.isEmpty else { return }
    ERR_clear_error()
    let count = SSL_write(pointer, bytes.baseAddress, Int32(clamping: bytes.count))
    guard Int(count) == bytes.count else { throw .taken(during: "write over TLS") }
  }

  /// Announces that this side writes nothing more. The session can still read the peer's bytes.
  public func shutDown() {
    guard isEstablished else { return }
    // One call tells the peer. A second call would wait for its answer, which nobody needs.
    _ = SSL_shutdown(pointer)
    ERR_clear_error()
  }

  /// Offers the bytes for the network to a function that returns how many it took. The others wait for the next call.
  public func offerBytesToSend(_ take: (UnsafeRawBufferPointer) -> Int) {
    var start: UnsafeMutableRawPointer?
    // BIO_get_mem_data is a macro.
    let count = BIO_ctrl(outgoing, BIO_CTRL_INFO, 0, &start)
    guard count > 0, let start else { return }
    var taken = take(UnsafeRawBufferPointer(start: start, count: count))
    // Reading is the only way to make a stream forget bytes. A thousand fit on the stack.
    withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { forgotten in
      while taken > 0 {
        let count = BIO_read(outgoing, forgotten.baseAddress, Int32(min(taken, forgotten.count)))
        guard count > 0 else { return }
        taken -= Int(count)
      }
    }
  }

  /// Moves the bytes for the network to the end of `buffer`.
  public func takeBytesToSend(into buffer: inout [UInt8]) {
    offerBytesToSend { bytes in
      buffer.append(contentsOf: bytes)
      return bytes.count
    }
  }
}
