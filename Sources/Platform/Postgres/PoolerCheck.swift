/// What a new connection tells about the way to PostgreSQL, and what follows from it.
///
/// Countersign needs a session of its own: it prepares statements, sends many trips at a time, and relies on settings
/// of the session, such as `lock_timeout`. A pooler in transaction mode gives each transaction another session.
enum PoolerCheck {
  /// What is wrong with a connection.
  enum Fault: Equatable {
    /// The session has another value than the client asked for.
    case lostSetting(String)
    /// Two transactions of one connection ran in two sessions.
    case changingSession
  }

  /// Judges a connection through a pooler.
  ///
  /// - Parameters:
  ///   - wanted: see ``ConnectParameters/settings(_:)``.
  ///   - found: the settings of the session, by their names.
  ///   - processes: the numbers of the processes that served the connection's transactions, one after the other. At the
  ///     last one, another connection held a transaction open.
  static func fault(
    wanted: [(name: String, value: String)], found: [String: String], processes: [Int32]
  ) -> Fault? {
    if Set(processes).count > 1 { return .changingSession }
    return wanted.first { found[$0.name] != $0.value }.map { .lostSetting($0.name) }
  }

  private static let advice =
    "give ledger.url the address of PostgreSQL itself, or set the pooler to session mode as "
    + "docs/operate/managed-services.md says"

  /// A sentence for a person.
  static func sentence(_ fault: Fault) -> String {
    switch fault {
    case .changingSession:
      "the ledger is behind a transaction pooler (two transactions of one connection ran in two sessions): \(advice)"
    case .lostSetting(let name):
      "the ledger is behind a connection pooler that drops settings of the session (\(name)): \(advice)"
    }
  }

  /// Adds what to do to a refusal that only poolers give.
  static func explained(_ refusal: String) -> String {
    ["unsupported startup parameter", "statement pooling mode"].contains(where: refusal.contains)
      ? "\(refusal): the ledger is behind a connection pooler: \(advice)" : refusal
  }
}
