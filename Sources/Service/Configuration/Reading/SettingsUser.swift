/// A command that needs more than well-formed settings: the ledger's address, or files that the settings name.
public enum SettingsUser: String, CaseIterable, Sendable {
  case gateway, worker, notifier, console, migrate, rekey

  /// Whether the role reads and writes secrets of the ledger. A console makes new ones for endpoints.
  public var needsKeys: Bool { self == .gateway || self == .notifier || self == .console }
}
