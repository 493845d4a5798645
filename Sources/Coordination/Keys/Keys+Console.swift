extension Keys {
  /// String with expiry: a `ConsoleSession`, by the SHA-256 of its token.
  public func consoleSession(_ tokenSHA256: String) -> String { "\(prefix)console:session:\(tokenSHA256)" }
  /// List with expiry: the SHA-256 of the tokens of a person's sessions, the oldest first, by a digest of the name.
  public func consoleSessions(_ digest: String) -> String { "\(prefix)console:sessions:\(digest)" }
  /// String with expiry: how often somebody tried to sign in to the console, by a digest of the name and the address.
  public func consoleAttempts(_ digest: String) -> String { "\(prefix)console:attempts:\(digest)" }
}
