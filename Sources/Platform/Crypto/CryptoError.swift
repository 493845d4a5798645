import COpenSSL

/// An operation that OpenSSL refused or could not finish.
public struct CryptoError: Error, Sendable, CustomStringConvertible {
  /// The operation, in a few words, for example `read a P-256 private key`.
  public let operation: String
  /// OpenSSL's reasons, oldest first, or a cause of this module's own if OpenSSL had no objection.
  public let cause: String
  /// Whether the cause is OpenSSL's, with numbers that help nobody who reads a configuration.
  public let isOfOpenSSL: Bool

  /// Creates an error with a cause of this module's own.
  public init(operation: String, cause: String) { self.init(operation, cause, isOfOpenSSL: false) }

  private init(_ operation: String, _ cause: String, isOfOpenSSL: Bool) {
    (self.operation, self.cause, self.isOfOpenSSL) = (operation, cause, isOfOpenSSL)
  }

  public var description: String { "could not \(operation): \(cause)" }

  /// Takes the causes from this thread's error queue and leaves it empty. Call it right after the failed call.
  static func taken(during operation: String) -> CryptoError {
    var causes: [String] = []
    while true {
      let code = ERR_get_error()
      guard code != 0 else { break }
      causes.append(
        String(unsafeUninitializedCapacity: 256) { buffer in
          buffer.withMemoryRebound(to: CChar.self) { ERR_error_string_n(code, $0.baseAddress, $0.count) }
          return buffer.firstIndex(of: 0) ?? buffer.count
        })
    }
    return CryptoError(
      operation, causes.isEmpty ? "no reason given" : causes.joined(separator: "; "), isOfOpenSSL: true)
  }
}
