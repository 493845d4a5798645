public import Crypto

/// Makes a line of the file of users, for `countersign console-password`.
public enum PasswordLine {
  /// What a person may be.
  public static let roles = ConsoleRole.allCases.map(\.rawValue)
  /// The fewest and the most bytes of a password.
  public static let lengths = 12...1024

  /// Whether a text can name a person.
  public static func isName(_ text: String) -> Bool { ConsolePerson.isName(text) }

  /// Whether a text names publishers: `*`, or ids with commas.
  public static func isPublishers(_ text: String) -> Bool { SeenPublishers(text) != nil }

  /// Returns the line. It blocks while it hashes the password.
  ///
  /// - Returns: `nil` if one of the texts cannot stand in the file.
  public static func make(
    name: String, role: String, publishers: String, password: String
  ) throws(CryptoError) -> String? {
    guard isName(name), let role = ConsoleRole(rawValue: role), let seen = SeenPublishers(publishers),
      lengths.contains(password.utf8.count)
    else { return nil }
    let hash = try Scrypt(of: password)
    return ConsolePerson.line(name, role, seen, hash)
  }
}
