/// A code of the API's error answers. An unknown code is kept as it is.
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
}
