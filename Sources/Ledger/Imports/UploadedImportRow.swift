import Domain
import Postgres

/// A row of `imports`.
struct UploadedImportRow: ReadableRecord {
  var one: UploadedImport

  static let blank = UploadedImportRow(
    one: UploadedImport(id: "", publisherId: 0, wish: UploadedImport.Wish(preset: .plain), createdAt: 0))
  var title: String { "import \(one.id)" }

  static let table = Table<UploadedImportRow>("imports", key: ["publisher_id", "id"]) { columns in
    columns.required("publisher_id", .publisher, { $0.one.publisherId }, { $0.one.publisherId = $1 })
    columns.required("id", .id(of: ImportId.self), { $0.one.id }, { $0.one.id = $1 })
    columns.required("state", .name(of: ImportState.self), { $0.one.state }, { $0.one.state = $1 })
    columns.required("preset", .name(of: ImportPresetName.self), { $0.one.wish.preset }, { $0.one.wish.preset = $1 })
    columns.required(
      "share_per_mille", .integer, { $0.one.wish.sharePerMille }, { $0.one.wish.sharePerMille = $1 })
    columns.required("tells", .boolean, { $0.one.wish.tells }, { $0.one.wish.tells = $1 })
    columns.required(
      "skips_problems", .boolean, { $0.one.wish.skipsProblems }, { $0.one.wish.skipsProblems = $1 })
    columns.required("round", .integer, { $0.one.wish.round }, { $0.one.wish.round = $1 })
    columns.optional("token", .text, { $0.one.token }, { $0.one.token = $1 })
    columns.required("created_at", .timestamptz, { $0.one.createdAt }, { $0.one.createdAt = $1 })
    columns.required("changed_at", .timestamptz, { $0.one.changedAt }, { $0.one.changedAt = $1 })
    columns.required("bytes", .bigint, { $0.one.bytes }, { $0.one.bytes = $1 })
    columns.required("parts", .integer, { $0.one.parts }, { $0.one.parts = $1 })
    columns.optional("row_count", .bigint, { $0.one.progress.rows }, { $0.one.progress.rows = $1 })
    columns.required("done", .bigint, { $0.one.progress.done }, { $0.one.progress.done = $1 })
    columns.optional("earlier", .bigint, { $0.one.progress.earlier }, { $0.one.progress.earlier = $1 })
    columns.required(
      "rows_per_minute", .bigint, { $0.one.progress.rowsPerMinute }, { $0.one.progress.rowsPerMinute = $1 })
    columns.required("problem_count", .bigint, { $0.one.problemCount }, { $0.one.problemCount = $1 })
    // Texts of the file may stand in problems. They go with the row.
    columns.optional("problems", .bytea, { $0.one.problems }, { $0.one.problems = $1 })
    columns.optional("plan", .bytea, { $0.one.plan }, { $0.one.plan = $1 })
    columns.optional("summary", .bytea, { $0.one.summary }, { $0.one.summary = $1 })
    columns.optional("cause", .text, { $0.one.cause }, { $0.one.cause = $1 })
    columns.optional("due_at", .timestamptz, { $0.one.dueAt }, { $0.one.dueAt = $1 })
    columns.optional("worker", .text, { $0.one.worker }, { $0.one.worker = $1 })
  }

  static let insert = table.insert("insert imports")
  /// The caller has locked them.
  static let update = table.update("update imports")

  static func parameters(_ one: UploadedImport) -> [PostgresParameter] {
    table.parameters([UploadedImportRow(one: one)])
  }
}
