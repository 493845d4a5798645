/// The most that a text of a request may have.
///
/// `maxLength` of JSON Schema counts Unicode characters, so most limits do. Where bytes count, such as for a text that
/// is only ASCII, the contract says so.
public struct TextLimit: Hashable, Sendable, CustomStringConvertible {
  /// What a limit counts.
  public enum Unit: String, Sendable {
    /// Unicode scalars.
    case characters
    /// Bytes in UTF-8.
    case bytes
  }

  /// The greatest number that is not too many.
  public let most: Int
  /// What it counts.
  public let unit: Unit

  /// A limit in Unicode characters.
  public static func characters(_ most: Int) -> TextLimit { TextLimit(most: most, unit: .characters) }

  /// A limit in bytes.
  public static func bytes(_ most: Int) -> TextLimit { TextLimit(most: most, unit: .bytes) }

  private init(most: Int, unit: Unit) { (self.most, self.unit) = (most, unit) }

  /// Whether a text is no longer.
  public func admits(_ text: String) -> Bool {
    let bytes = text.utf8.count
    // A character has a byte at least, and four at most. So most texts need no counting.
    guard bytes > most else { return true }
    return unit == .characters && bytes / 4 <= most && text.unicodeScalars.count <= most
  }

  /// The limit in words, such as `at most 256 characters`.
  public var description: String { "at most \(most) \(unit.rawValue)" }
}
