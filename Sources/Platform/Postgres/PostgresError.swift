/// Work at PostgreSQL that failed.
public struct PostgresError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: Sendable, Equatable, CustomStringConvertible {
    /// There is no connection, so the client sent nothing.
    case unreachable
    /// The connection ended. Nobody knows whether PostgreSQL committed the transaction.
    case connectionLost
    /// No reply came in time. Nobody knows whether PostgreSQL committed the transaction.
    case timeout
    /// The client was stopped before it sent anything.
    case closed
    /// The statement ran, and a column of its result is missing or has another type.
    case unreadable
    /// PostgreSQL refused, and rolled the transaction back. The text is its five-letter code.
    case server(sqlState: String)

    public var description: String {
      switch self {
      case .unreachable: "unreachable"
      case .connectionLost: "connectionLost"
      case .timeout: "timeout"
      case .closed: "closed"
      case .unreadable: "unreadable"
      case .server(let sqlState): sqlState
      }
    }
  }

  /// What a caller can do about a failure.
  public enum Advice: Sendable {
    /// Run the same work again.
    case runAgain
    /// PostgreSQL lacks a resource, such as disk space: wait, and take no new work meanwhile.
    case backOff
    /// The same work fails again: a value or a statement is wrong.
    case ourMistake
  }

  /// The kind of failure.
  public let code: Code
  /// The statement's name, or what else the client did.
  public let operation: String
  /// Host and port.
  public let target: String
  /// The text of PostgreSQL, of libpq or of the client.
  public let cause: String
  /// The constraint that a row violates, if PostgreSQL names one.
  public let constraint: String?

  /// Creates an error.
  public init(_ code: Code, operation: String, target: String, cause: String, constraint: String? = nil) {
    self.code = code
    self.operation = operation
    self.target = target
    self.cause = cause
    self.constraint = constraint
  }

  public var description: String { "\(operation) at \(target): \(cause) (\(code))" }

  /// What the caller can do.
  public var advice: Advice {
    if code == .unreadable { return .ourMistake }
    guard case .server(let state) = code else { return .runAgain }
    return switch state {
    // Serialization failure, deadlock, lock timeout, cancelled, read-only; and statements that a connection lost.
    case "40001", "40P01", "55P03", "57014", "25006", "0A000", "26000", "42P05": .runAgain
    case _ where state.hasPrefix("08") || state.hasPrefix("57P"): .runAgain
    // Without room or memory, an error of the disk, an error of the server itself, rights that somebody changes: all
    // these end without us, and say nothing about the rows. An accepted purchase must not fail because of them.
    case "42501": .backOff
    case _ where ["53", "58", "XX"].contains(state.prefix(2)): .backOff
    default: .ourMistake
    }
  }

  /// Whether the connection must prepare its statements again, and nothing has run.
  var isAboutPreparation: Bool {
    // A plan whose columns have changed, no such statement, and a statement that is there already.
    [.server(sqlState: "0A000"), .server(sqlState: "26000"), .server(sqlState: "42P05")].contains(code)
  }

  /// Whether the server takes no writes.
  var isReadOnly: Bool { code == .server(sqlState: "25006") }
}
