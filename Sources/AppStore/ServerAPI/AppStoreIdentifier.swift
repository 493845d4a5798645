import Formats

/// The forms of Apple's identifiers. They go into paths unescaped, so that an id with a slash or a question mark in it
/// would make another call of ours.
public enum AppStoreIdentifier {
  /// Returns whether this can be the token of a test notification: 1 to 128 ASCII letters, digits, `-` and `_`.
  public static func isTestNotificationToken(_ text: String) -> Bool {
    matches(text, upTo: 128) { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
  }

  private static func matches(_ text: String, upTo limit: Int = 64, _ isAllowed: (UInt8) -> Bool) -> Bool {
    (1...limit).contains(text.utf8.count) && text.utf8.allSatisfy(isAllowed)
  }
}
