public import Domain
public import EventLoop
import JSON
public import Postgres

/// A publisher's imports over HTTP. Each step is one commit with its row of the audit log.
///
/// Every method throws `PostgresError`, or `UnreadableRecord` for a row that this code cannot read.
@LoopActor
public struct ImportStore {
  private let postgres: PostgresClient

  /// Creates the imports of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// A step of an import; a part of the action in the audit log.
  public enum Step: String, Sendable, CaseIterable {
    case created, checked, started, cancelled, deleted, finished, failed
    case reportRead
  }

  /// Whether there was room for a new import.
  public enum Room: Sendable, Equatable {
    case enough
    /// The publisher has `UploadedImport.mostOpen` imports that are not finished.
    case tooManyOpen
    /// The publisher has `UploadedImport.mostKept` imports, with finished ones.
    case tooManyKept
  }

  /// Keeps a new import, if there is room.
  public func create(_ new: UploadedImport) async throws -> Room {
    try await postgres.transaction { transaction in
      // Two at once would both see the last place.
      _ = try await transaction.query(
        PostgresQuery(.lockImports, [.int64(AdvisoryLock.key("imports \(new.publisherId)"))]))
      let counts = try await transaction.query(PostgresQuery(.countImports, [.id(new.publisherId)])).first
      guard try counts?.int64("open") ?? 0 < Int64(UploadedImport.mostOpen) else { return .tooManyOpen }
      guard try counts?.int64("kept") ?? 0 < Int64(UploadedImport.mostKept) else { return .tooManyKept }
      _ = try await transaction.commit([
        PostgresQuery(UploadedImportRow.insert, UploadedImportRow.parameters(new)),
        AuditEntry.insert([.imported(.created, new)]),
      ])
      return .enough
    }
  }

  /// Reads an import; `nil` if the publisher has none with the id.
  public func read(_ publisher: PublisherId, _ id: ImportId) async throws -> UploadedImport? {
    let rows = try await postgres.run(PostgresQuery(.readImport, [.id(publisher), .id(id)]))
    return try UploadedImportRow.table.records(rows).first?.one
  }

  /// Where a page of a list ends.
  public struct Place: Sendable, Equatable {
    /// Milliseconds since 1970.
    public let createdAt: Int64
    public let id: ImportId

    /// Creates a place.
    public init(createdAt: Int64, id: ImportId) { (self.createdAt, self.id) = (createdAt, id) }
  }

  /// Reads a page of a publisher's imports, the newest first.
  ///
  /// - Parameter place: where the page before it ended; `nil` for the first page.
  public func list(_ publisher: PublisherId, after place: Place? = nil, limit: Int) async throws -> [UploadedImport] {
    let rows = try await postgres.run(
      PostgresQuery(
        .listImports,
        [.id(publisher), .time(place?.createdAt ?? .max), .id(place?.id ?? ""), .int64(Int64(limit))]))
    return try UploadedImportRow.table.records(rows).map(\.one)
  }

  /// Takes a step of an import.
  ///
  /// - Parameter change: decides; it returns whether anything changed.
  /// - Returns: the import behind the step; `nil` if the publisher has none with the id.
  /// - Throws: `ImportStepRefusal` besides, and then nothing has changed.
  public func take(
    _ step: Step, of id: ImportId, _ publisher: PublisherId,
    _ change: (inout UploadedImport) throws(ImportStepRefusal) -> Bool
  ) async throws -> UploadedImport? {
    try await postgres.transaction { transaction in
      guard var one = try await Self.locked(id, publisher, transaction) else { return nil }
      guard try change(&one) else { return one }
      _ = try await transaction.commit([
        PostgresQuery(UploadedImportRow.update, UploadedImportRow.parameters(one)),
        AuditEntry.insert([.imported(step, one)]),
      ])
      return one
    }
  }

  /// Adds a part to an import's file. Of two at once, the second one sees the first one's bytes.
  ///
  /// - Parameters:
  ///   - offset: where it begins, as the client sees it.
  ///   - now: milliseconds since 1970.
  /// - Throws: `ImportStepRefusal` besides, and then nothing has changed.
  public func append(
    _ bytes: [UInt8], at offset: Int64, to id: ImportId, _ publisher: PublisherId, now: Int64
  ) async throws -> UploadedImport? {
    try await postgres.transaction { transaction in
      guard var one = try await Self.locked(id, publisher, transaction) else { return nil }
      try one.append(bytes.count, at: offset, now: now)
      _ = try await transaction.commit([
        PostgresQuery(UploadedImportRow.update, UploadedImportRow.parameters(one)),
        ImportParts.insert(.file, of: id, publisher, at: offset, bytes),
      ])
      return one
    }
  }

  /// Deletes an import with its file and its report.
  ///
  /// - Returns: whether there was one.
  /// - Throws: `ImportStepRefusal` besides, and then nothing has changed.
  public func delete(_ id: ImportId, _ publisher: PublisherId) async throws -> Bool {
    try await postgres.transaction { transaction in
      guard let one = try await Self.locked(id, publisher, transaction) else { return false }
      try one.mayBeDeleted()
      _ = try await transaction.commit([
        ImportParts.delete(.file, of: id, publisher), ImportParts.delete(.report, of: id, publisher),
        PostgresQuery(.deleteImport, [.id(publisher), .id(id)]),
        AuditEntry.insert([.imported(.deleted, one)]),
      ])
      return true
    }
  }

  /// Notes in the audit log that a report is read.
  public func noteReport(of one: UploadedImport, by token: String?) async throws {
    _ = try await postgres.run(AuditEntry.insert([.imported(.reportRead, one, by: token)]))
  }

  static func locked(
    _ id: ImportId, _ publisher: PublisherId, _ transaction: PostgresTransaction
  ) async throws -> UploadedImport? {
    let rows = try await transaction.query(PostgresQuery(.lockImportRow, [.id(publisher), .id(id)]))
    return try UploadedImportRow.table.records(rows).first?.one
  }
}

extension AuditEntry {
  /// A step of an import. The file's contents are no part of it.
  ///
  /// - Parameter token: the name of the token; without it, that of the request counts.
  static func imported(_ step: ImportStore.Step, _ one: UploadedImport, by token: String? = nil) -> AuditEntry {
    AuditEntry(
      publisherId: one.publisherId, actor: .publisher, token: token, action: "import.\(step.rawValue)",
      subject: one.id.text,
      detail: JSONWriter.object { detail in
        detail.member("bytes", one.bytes)
        detail.member("from", one.wish.preset.rawValue)
        detail.member("rows", one.progress.rows)
        detail.member("tell", one.wish.tells)
      })
  }
}

extension PostgresStatement {
  fileprivate static let lockImports = PostgresStatement(
    "lock a publisher's imports", "SELECT pg_advisory_xact_lock($1)")

  fileprivate static let countImports = PostgresStatement(
    "count imports",
    """
    SELECT count(*) FILTER (WHERE state <> 'finished') AS open, count(*) AS kept FROM imports WHERE publisher_id = $1
    """)

  fileprivate static let readImport = PostgresStatement(
    "read import",
    "SELECT \(UploadedImportRow.table.selected("i")) FROM imports i WHERE i.publisher_id = $1 AND i.id = $2")

  fileprivate static let lockImportRow = PostgresStatement(
    "lock import",
    """
    SELECT \(UploadedImportRow.table.selected("i")) FROM imports i
    WHERE i.publisher_id = $1 AND i.id = $2 FOR UPDATE
    """)

  fileprivate static let listImports = PostgresStatement(
    "list imports",
    """
    SELECT \(UploadedImportRow.table.selected("i")) FROM imports i
    WHERE i.publisher_id = $1 AND (i.created_at < $2 OR i.created_at = $2 AND i.id > $3)
    ORDER BY i.created_at DESC, i.id LIMIT $4
    """)

  fileprivate static let deleteImport = PostgresStatement(
    "delete import", "DELETE FROM imports WHERE publisher_id = $1 AND id = $2")
}
