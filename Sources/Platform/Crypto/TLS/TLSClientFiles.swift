/// The PEM files of a TLS client. An empty value trusts the system's authorities and has no certificate of its own.
public struct TLSClientFiles: Sendable, Equatable {
  /// The authorities to trust; `nil` means the system's.
  public var caFile: String?
  /// The client's own certificate, with the authorities between it and the server's; `nil` means none.
  public var certificateFile: String?
  /// The key of that certificate, without a password.
  public var privateKeyFile: String?

  /// Creates a value from its parts.
  public init(caFile: String? = nil, certificateFile: String? = nil, privateKeyFile: String? = nil) {
    self.caFile = caFile
    self.certificateFile = certificateFile
    self.privateKeyFile = privateKeyFile
  }

  /// Reads the files.
  ///
  /// - Throws: `CryptoError`, which names the file that is of no use.
  public func context() throws(CryptoError) -> TLSClientContext {
    try TLSClientContext(
      caFile: caFile, certificateFile: certificateFile, privateKeyFile: privateKeyFile, applicationProtocols: [])
  }
}
