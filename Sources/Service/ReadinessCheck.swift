public import EventLoop
public import Postgres
public import Redis

/// One line of `/readyz`: a server or a part that a role works with, and its trouble.
@LoopActor
public struct ReadinessCheck {
  private let name: String
  private let isNeeded: Bool
  /// The trouble, empty when it has no name; `nil` when there is no trouble.
  private let trouble: @LoopActor () -> String?

  /// Creates a check that passes or fails without a cause.
  public init(_ name: String, isReady: @escaping @LoopActor () -> Bool) {
    self.init(name, isNeeded: true) { isReady() ? nil : "" }
  }

  /// Creates a check of something whose trouble has a name.
  ///
  /// - Parameters:
  ///   - isNeeded: whether the role is not ready during the trouble.
  ///   - trouble: `nil` when there is none.
  public init(_ name: String, isNeeded: Bool = true, trouble: @escaping @LoopActor () -> String?) {
    self.name = name
    self.isNeeded = isNeeded
    self.trouble = trouble
  }

  /// Checks whether Redis takes writes. If it does not, the line names the error.
  ///
  /// - Parameter isNeeded: whether the role is not ready without Redis.
  public static func redis(_ client: RedisClient, isNeeded: Bool = true) -> ReadinessCheck {
    ReadinessCheck("redis", isNeeded: isNeeded) { client.trouble }
  }

  /// Checks whether the ledger answers. If it does not, the line names the error.
  ///
  /// - Parameter isNeeded: whether the role is not ready without the ledger.
  public static func ledger(_ postgres: PostgresClient, isNeeded: Bool = true) -> ReadinessCheck {
    ReadinessCheck("ledger", isNeeded: isNeeded) { postgres.failure.map { "\($0)" } }
  }

  /// Asks for the result: whether the role can do its work, and a line for a person.
  func result() -> (isReady: Bool, line: String) {
    guard let trouble = trouble() else { return (true, "ok: \(name)") }
    let line = "\(isNeeded ? "not ready" : "degraded"): \(name)" + (trouble.isEmpty ? "" : ": \(trouble)")
    return (!isNeeded, line)
  }
}
