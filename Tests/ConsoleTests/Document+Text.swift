@testable import Console

/// What tests look for in a page: what it says, without the console's own script.
extension Document {
  /// The element with the script, as each live page has it with the prefix `/c`.
  static let script = "<script src=\"/c/refresh.js\" defer></script>"

  /// The page without the first such element, if it is live. So any other script is found.
  var text: String {
    guard isLive, let script = source.firstRange(of: Self.script) else { return source }
    return String(source[..<script.lowerBound] + source[script.upperBound...])
  }

  func contains(_ words: String) -> Bool { text.contains(words) }

  func firstRange(of words: String) -> Range<String.Index>? { text.firstRange(of: words) }

  func ranges(of words: String) -> [Range<String.Index>] { text.ranges(of: words) }
}
