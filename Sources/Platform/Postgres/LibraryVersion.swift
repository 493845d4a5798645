/// The versions of libpq, as `PQlibVersion` tells them: 150020 is 15.20.
enum LibraryVersion {
  /// Whether libpq never waits for the socket while its TLS layer still holds data.
  ///
  /// The versions of August 2026 brought this (release notes of 15.19). Before them an answer of certain sizes can stay
  /// unread for ever.
  static func isSafeWithTLS(_ version: Int32) -> Bool {
    let (major, minor) = version.quotientAndRemainder(dividingBy: 10_000)
    return switch major {
    case 15: minor >= 19
    case 16: minor >= 15
    case 17: minor >= 11
    case 18: minor >= 5
    default: major >= 19
    }
  }

  /// The version's text.
  static func text(_ version: Int32) -> String { "\(version / 10_000).\(version % 10_000)" }
}
