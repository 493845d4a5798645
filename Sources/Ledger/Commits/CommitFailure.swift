import Postgres

/// What a failed commit means for its batch.
enum CommitFailure {
  /// Another worker has inserted one of the rows: the same batch finds it.
  case conflict
  /// The ledger is away or busy. Whether the commit took effect is unknown.
  case passing
  /// Somebody else holds a row of the batch for long, for example an erasure. Nothing took effect.
  case locked
  /// Something in the batch cannot be committed.
  case mistake

  init(_ error: any Error) {
    switch error {
    case let error as PostgresError where error.isConflict: self = .conflict
    case let error as PostgresError where error.isLockTimeout: self = .locked
    case let error as PostgresError where error.advice != .ourMistake: self = .passing
    default: self = .mistake
    }
  }
}
