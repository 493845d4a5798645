import EventLoop

/// What a new connection tells about the way to PostgreSQL, and what follows from it.
///
/// Countersign needs a session of its own: it prepares statements, sends many trips at a time, and relies on settings
/// of the session, such as `lock_timeout`. A pooler in transaction mode gives each transaction another session.
enum PoolerCheck {
  /// A setting of the session, in PostgreSQL's smallest unit.
  struct Setting: Equatable {
    let name: String
    let value: String
  }

  /// What is wrong with a connection.
  enum Finding: Equatable {
    /// The session has another value than the client asked for.
    case lostSetting(String)
    /// Two transactions of one connection ran in two sessions.
    case changingSession
  }

  /// The settings that the session must have.
  static func wanted(_ endpoint: PostgresEndpoint) -> [Setting] {
    [
      Setting(name: "TimeZone", value: "UTC"), Setting(name: "jit", value: "off"),
      Setting(name: "idle_in_transaction_session_timeout", value: "10000"),
      Setting(name: "lock_timeout", value: "\(endpoint.lockTimeout.wholeMilliseconds)"),
    ] + endpoint.sessionSettings.map { Setting(name: $0.name, value: $0.value) }
  }

  /// Whether something between the client and PostgreSQL has opened the session. PostgreSQL itself tells a client the
  /// number of the process that serves it. A pooler tells a number of its own.
  static func isPooled(announced: Int32, serving: Int32) -> Bool { announced != serving }

  /// Judges a connection through a pooler.
  ///
  /// - Parameters:
  ///   - processes: the numbers of the processes that served the connection's transactions, one after the other. At the
  ///     last one, another connection held a transaction open.
  ///   - found: the settings of the session.
  static func finding(wanted: [Setting], found: [Setting], processes: [Int32]) -> Finding? {
    if Set(processes).count > 1 { return .changingSession }
    return wanted.first { setting in
      !found.contains { $0.name == setting.name && $0.value == setting.value }
    }.map { .lostSetting($0.name) }
  }

  private static let advice =
    "give ledger.url the address of PostgreSQL itself, or set the pooler to session mode as "
    + "docs/operate/managed-services.md says"

  /// A sentence for a person.
  static func sentence(_ finding: Finding) -> String {
    switch finding {
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
