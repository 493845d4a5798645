import Formats

/// The forms of Apple's identifiers.
///
/// They go into paths unescaped. So an id with a slash or a question mark in it would turn a call into another one.
public enum AppStoreIdentifier {
  /// Returns whether this can be the token of a test notification: 1 to 128 ASCII letters, digits, `-` and `_`.
  public static func isTestNotificationToken(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
  }
}
