import JSON

/// A key of the configuration that somebody has set, with its value as people read it. It is never a secret.
public struct StatedSetting: Sendable, Equatable {
  /// The key, with dots between the levels.
  public let key: String
  /// Of a URL only what stands before its path, without a user: people write secrets into the rest. The elements of a
  /// list have commas between them.
  public let value: String
  /// The default as a person would write it, such as `30` or `none`.
  public let fallback: String

  /// - Parameter shown: the default as the reference has it, with backticks around a value.
  init(_ key: String, _ value: String, shown: String) {
    self.key = key
    let elements = value.split(separator: ",", omittingEmptySubsequences: false)
    // A comma may also stand in a user's name or password.
    let areURLs = elements.allSatisfy { $0.contains("://") }
    self.value =
      areURLs ? elements.map(Self.withoutSecret).joined(separator: ",") : Self.withoutSecret(Substring(value))
    fallback = shown.replacing("`", with: "")
  }

  private static func withoutSecret(_ text: Substring) -> String {
    guard let scheme = text.firstRange(of: "://") else { return String(text) }
    let rest = text.suffix(from: scheme.upperBound)
    let authority = rest.prefix { !"/?#\\".contains($0) }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
    let isCut = host.utf8.count < rest.utf8.count
    return "\(text.prefix(upTo: scheme.upperBound))\(host)\(isCut ? "/…" : "")"
  }
}

extension JSONValue {
  /// The value as an environment variable would have it; `nil` for what none can have.
  var asText: String? {
    switch self {
    case .null, .object: nil
    case .bool(let flag): "\(flag)"
    case .integer(let number): "\(number)"
    case .number(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    case .string(let text): text
    case .array(let elements): elements.compactMap(\.asText).joined(separator: ",")
    }
  }
}
