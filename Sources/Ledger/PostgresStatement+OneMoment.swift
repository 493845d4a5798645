import Postgres

extension PostgresStatement {
  /// Lets all further statements of a transaction see one moment, and write nothing.
  ///
  /// It needs a trip of its own: the preparation of a query takes a snapshot.
  static let oneMoment = PostgresStatement(
    "read at one moment", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
}
