import COpenSSL

/// A leaf and the intermediate that issued it, as a signed message carries them.
public struct CertificateChain: Sendable {
  /// Why a chain is not trusted.
  public enum Untrusted: Error, Sendable, Equatable {
    /// No path from the leaf over the intermediate to a pinned root was valid at the time. Holds OpenSSL's reason.
    case noValidPath(String)
    /// OpenSSL found a path that does not have the intermediate between the leaf and a root.
    case unexpectedPath
    /// The intermediate lacks the basic constraints of a certificate authority.
    case intermediateNotAuthority
    /// A key usage extension forbids the use of the key.
    case keyUsage
  }

  /// The certificate whose key signs messages.
  public let leaf: Certificate
  /// The certificate authority that issued the leaf.
  public let intermediate: Certificate

  /// Creates a chain without checking anything.
  public init(leaf: Certificate, intermediate: Certificate) {
    self.leaf = leaf
    self.intermediate = intermediate
  }

  /// Checks that the chain ends at one of `roots` and was valid at a time, in milliseconds since 1970.
  ///
  /// It trusts only `roots`, and does not even look at a root that came with the message. X509_V_FLAG_X509_STRICT stays
  /// off, since test authorities in wide use lack the key identifiers for which it asks.
  ///
  /// - Parameter securityLevel: OpenSSL's level for keys and digests; 2 refuses SHA-1 and RSA below 2048 bits.
  /// - Returns: The root at which the chain ends.
  public func verify(
    against roots: [Certificate], at milliseconds: Int64, securityLevel: Int32 = 2
  ) throws(Untrusted) -> Certificate {
    let root = try rootOfValidPath(among: roots, at: milliseconds, securityLevel: securityLevel)
    guard intermediate.isCA else { throw .intermediateNotAuthority }
    guard leaf.allowsDigitalSignature, intermediate.allowsCertificateSigning else { throw .keyUsage }
    return root
  }

  /// Tries the roots with the issuer's name one by one. If two roots have the same name, as after a change of keys,
  /// OpenSSL would only try one.
  private func rootOfValidPath(
    among roots: [Certificate], at milliseconds: Int64, securityLevel: Int32
  ) throws(Untrusted) -> Certificate {
    var failure = Untrusted.noValidPath("no pinned root has the name of the intermediate's issuer")
    for root in roots where intermediate.hasIssuer(namedLike: root) {
      do throws(Untrusted) {
        let found = try path(to: root, at: milliseconds, securityLevel: securityLevel)
        guard found == [leaf.der, intermediate.der, root.der] else { throw .unexpectedPath }
        return root
      } catch {
        failure = error
      }
    }
    throw failure
  }

  /// Returns the DER of the path that OpenSSL builds and finds valid, leaf first.
  private func path(
    to root: Certificate, at milliseconds: Int64, securityLevel: Int32
  ) throws(Untrusted) -> [[UInt8]] {
    guard let store = X509_STORE_new(), let context = X509_STORE_CTX_new(), let untrusted = OPENSSL_sk_new_null()
    else { preconditionFailure("OpenSSL could not allocate, which only happens when memory is exhausted.") }
    defer {
      X509_STORE_CTX_free(context)
      OPENSSL_sk_free(untrusted)
      X509_STORE_free(store)
      ERR_clear_error()
    }
    X509_STORE_add_cert(store, root.pointer)
    OPENSSL_sk_push(untrusted, UnsafeRawPointer(intermediate.pointer))
    guard X509_STORE_CTX_init(context, store, leaf.pointer, untrusted) == 1 else {
      throw .noValidPath(CryptoError.taken(during: "prepare a chain").cause)
    }
    let parameters = X509_STORE_CTX_get0_param(context)
    // Rounds down before 1970 too, so that a time in the last second of validity is inside.
    X509_VERIFY_PARAM_set_time(parameters, Int(milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0)))
    X509_VERIFY_PARAM_set_auth_level(parameters, securityLevel)
    guard X509_verify_cert(context) == 1 else {
      let reason = X509_verify_cert_error_string(Int(X509_STORE_CTX_get_error(context)))
      throw .noValidPath(reason.map { String(cString: $0) } ?? "no reason given")
    }
    let chain = X509_STORE_CTX_get0_chain(context)
    return (0..<OPENSSL_sk_num(chain)).map { index in
      var output: UnsafeMutablePointer<UInt8>?
      let count = i2d_X509(OPENSSL_sk_value(chain, index).map { OpaquePointer($0) }, &output)
      defer { CRYPTO_free(output, #fileID, #line) }
      return Array(UnsafeBufferPointer(start: output, count: max(0, Int(count))))
    }
  }
}
