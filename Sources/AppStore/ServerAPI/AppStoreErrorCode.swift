/// A code of the API's error answers; codes that are not listed are kept as they are.
///
/// The first three digits are the HTTP status. The names are those of Apple's documentation.
public struct AppStoreErrorCode: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
  public let rawValue: Int64

  /// Creates a code, known or not.
  public init(rawValue: Int64) {
    self.rawValue = rawValue
  }

  /// Apple's name of a known code.
  public var name: String? { Self.names[self] }

  public var description: String { name.map { "\(rawValue) \($0)" } ?? "\(rawValue)" }

  /// Whether the same call may succeed later: the codes that say so, and every internal error of Apple.
  public var isRetryable: Bool {
    switch self {
    case .accountNotFoundRetryable, .appNotFoundRetryable, .originalTransactionIdNotFoundRetryable,
      .rateLimitExceeded:
      true
    default: (5_000_000..<6_000_000).contains(rawValue)
    }
  }
}
