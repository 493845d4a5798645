import Postgres

extension Problem {
  /// Turns a failure of the ledger into an answer to the client.
  ///
  /// While PostgreSQL is unreachable or busy, the client must come again. A statement that PostgreSQL refuses is our
  /// own mistake, and so is a result that we cannot read.
  static func ledger(_ error: PostgresError) -> Problem {
    switch error.code {
    case .unreachable, .closed: .unavailable("The ledger cannot be used now. Nothing was changed.")
    case .connectionLost, .timeout:
      .unavailable("The ledger did not answer. The request may have taken effect all the same.")
    case .unreadable: .internalError
    case .server:
      switch error.advice {
      case .runAgain, .backOff: .unavailable("The ledger is busy. Nothing was changed.")
      case .ourMistake: .internalError
      }
    }
  }
}
