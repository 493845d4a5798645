public import Domain
public import EventLoop
public import Postgres

/// What workers do with imports over HTTP. A run has a lease: the column `due_at` of its row. Nobody else takes the row
/// until then, and whoever takes it afterwards writes another name into `worker`. So the first run can no longer write.
///
/// Every method throws `PostgresError`.
@LoopActor
public struct ImportWork {
  private let postgres: PostgresClient

  /// For so long nobody else takes an import that a run has.
  public nonisolated static let lease = Duration.seconds(30)

  /// Creates it over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// The run has lost its import: the lease was over and another run has it, or the publisher has ended the work.
  public struct Lost: Error, Sendable, CustomStringConvertible {
    public let description = "another run has the import, or it was cancelled"

    /// Creates the error.
    public init() {}
  }

  /// Takes an import that is due, the one that waits longest.
  ///
  /// - Parameters:
  ///   - publishers: those whose files this process has.
  ///   - worker: the name of the run, which no other has.
  /// - Throws: `UnreadableRecord` besides.
  public func takeDue(of publishers: [PublisherId], as worker: String) async throws -> UploadedImport? {
    let rows = try await postgres.run(
      PostgresQuery(
        .takeDueImport, [.ids(publishers), .text(worker), .int64(Int64(Self.lease.wholeMilliseconds))]))
    return try UploadedImportRow.table.records(rows).first?.one
  }

  /// What a run learns when it prolongs its lease.
  public struct Kept: Sendable, Equatable {
    public let state: ImportState
    /// Whether other imports wait for a run, and could be taken now.
    public let othersWait: Bool

    /// Creates an answer.
    public init(state: ImportState, othersWait: Bool) { (self.state, self.othersWait) = (state, othersWait) }
  }

  /// Prolongs the lease of a run, and notes how far it is.
  ///
  /// - Parameter publishers: those whose files this process has.
  /// - Throws: ``Lost`` besides.
  public func keep(
    _ one: UploadedImport, as worker: String, _ progress: UploadedImport.Progress, of publishers: [PublisherId]
  ) async throws -> Kept {
    let rows = try await postgres.run(
      PostgresQuery(
        .keepImport,
        [
          .id(one.publisherId), .id(one.id), .text(worker), .int64(Int64(Self.lease.wholeMilliseconds)),
          .int64(progress.rows), .int64(progress.done), .int64(progress.earlier), .int64(progress.rowsPerMinute),
          .ids(publishers),
        ]))
    guard let row = rows.first, let state = try row.text("state").flatMap(ImportState.init(rawValue:)) else {
      throw Lost()
    }
    return Kept(state: state, othersWait: try row.bool("others_wait") ?? false)
  }

  /// Gives an import back, so that another run takes it. While it waits, it does not grow old.
  ///
  /// - Parameter pause: how long nobody takes it.
  public func release(_ one: UploadedImport, as worker: String, after pause: Duration = .zero) async throws {
    _ = try await postgres.run(
      PostgresQuery(
        .releaseImport,
        [.id(one.publisherId), .id(one.id), .text(worker), .int64(Int64(pause.wholeMilliseconds))]))
  }

  /// Notes what a run has found, and how it has ended. The end of the whole import has a row of the audit log, and the
  /// file of a finished one goes in the same commit.
  ///
  /// - Parameters:
  ///   - ending: how it has ended; `nil` if it goes on.
  ///   - now: milliseconds since 1970.
  ///   - change: what it has found.
  /// - Returns: the import as it is now.
  /// - Throws: ``Lost`` besides, and then nothing has changed.
  @discardableResult
  public func note(
    _ one: UploadedImport, as worker: String, _ ending: UploadedImport.Ending?, now: Int64,
    _ change: (inout UploadedImport) -> Void
  ) async throws -> UploadedImport {
    try await postgres.transaction { transaction in
      guard var row = try await ImportStore.locked(one.id, one.publisherId, transaction), row.worker == worker,
        row.state == one.state || row.state == .cancelling
      else { throw Lost() }
      change(&row)
      if let ending { row.end(ending, now: now) }
      var queries = [PostgresQuery(UploadedImportRow.update, UploadedImportRow.parameters(row))]
      if ending == .finished { queries.append(ImportParts.delete(.file, of: one.id, one.publisherId)) }
      if let step = ending?.step { queries.append(AuditEntry.insert([.imported(step, row, by: row.token)])) }
      _ = try await transaction.commit(queries)
      return row
    }
  }

  /// Begins the report anew.
  ///
  /// - Throws: ``Lost`` besides.
  public func beginReport(of one: UploadedImport, as worker: String) async throws {
    try await write(one, worker, [ImportParts.delete(.report, of: one.id, one.publisherId)])
  }

  /// Adds lines to the report.
  ///
  /// - Parameter place: how many bytes it has.
  /// - Throws: ``Lost`` besides.
  public func addReport(of one: UploadedImport, as worker: String, at place: Int64, _ lines: [UInt8]) async throws {
    guard !lines.isEmpty else { return }
    try await write(one, worker, [ImportParts.insert(.report, of: one.id, one.publisherId, at: place, lines)])
  }

  /// Writes, if the run has the import still: the row is locked meanwhile.
  private func write(_ one: UploadedImport, _ worker: String, _ queries: [PostgresQuery]) async throws {
    try await postgres.transaction { transaction in
      guard let row = try await ImportStore.locked(one.id, one.publisherId, transaction), row.worker == worker else {
        throw Lost()
      }
      _ = try await transaction.commit(queries)
    }
  }
}

extension UploadedImport.Ending {
  /// What the audit log calls it; `nil` if the publisher's own step stands there.
  fileprivate var step: ImportStore.Step? {
    switch self {
    case .finished: .finished
    case .failed: .failed
    case .checked, .cancelled: nil
    }
  }
}

extension PostgresStatement {
  /// Whether a run may take an import of some publishers now. One import of a publisher registers rows at a time.
  /// Checks do not, so they wait for nobody.
  private static func isDue(_ q: String, of publishers: String) -> String {
    """
    \(q).due_at <= now() AND \(q).publisher_id = ANY(\(publishers))
      AND (\(q).state = 'checking' OR NOT EXISTS (
        SELECT FROM imports o WHERE o.publisher_id = \(q).publisher_id AND o.id <> \(q).id AND o.worker IS NOT NULL
          AND o.due_at > now() AND o.state <> 'checking'))
    """
  }

  fileprivate static let takeDueImport = PostgresStatement(
    "take due import",
    """
    WITH due AS (
      SELECT q.publisher_id, q.id FROM imports q
      WHERE \(isDue("q", of: "$1"))
      ORDER BY q.due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE imports i SET worker = $2, due_at = now() + $3 * interval '1 millisecond' FROM due
    WHERE i.publisher_id = due.publisher_id AND i.id = due.id
    RETURNING \(UploadedImportRow.table.selected("i"))
    """)

  fileprivate static let keepImport = PostgresStatement(
    "keep import",
    """
    UPDATE imports i SET due_at = now() + $4 * interval '1 millisecond', changed_at = now(),
      row_count = coalesce($5, i.row_count), done = $6, earlier = coalesce(i.earlier, $7), rows_per_minute = $8
    WHERE i.publisher_id = $1 AND i.id = $2 AND i.worker = $3
    RETURNING i.state, EXISTS (
      SELECT FROM imports q
      WHERE (q.publisher_id, q.id) <> (i.publisher_id, i.id) AND \(isDue("q", of: "$9"))) AS others_wait
    """)

  fileprivate static let releaseImport = PostgresStatement(
    "release import",
    """
    UPDATE imports SET worker = NULL, changed_at = now(), due_at = now() + $4 * interval '1 millisecond'
    WHERE publisher_id = $1 AND id = $2 AND worker = $3
    """)
}
