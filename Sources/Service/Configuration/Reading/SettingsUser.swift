/// A command that needs more than well-formed settings: the ledger's address, or files that the settings name.
public enum SettingsUser: String, CaseIterable, Sendable { case gateway, worker, notifier, migrate, rekey }
