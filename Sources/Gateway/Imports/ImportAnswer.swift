import Domain
import Formats
import JSON
import Ledger

/// Writes imports as answers show them.
enum ImportAnswer {
  static func written(_ one: UploadedImport) -> [UInt8] { JSONWriter.object { write(one, to: &$0) } }

  /// A page of imports. It ends earlier if they are long.
  static func list(_ imports: [UploadedImport], next: String?, most: Int = PageText<UploadedImport>.most) -> [UInt8] {
    let page = PageText(imports, most: most) { written($0) }
    return JSONWriter.object { list in
      list.member("imports", array: page.elements)
      list.member("nextCursor", page.end.map { ImportStore.Place($0).cursor } ?? next)
    }
  }

  /// Writes an import, in the order of the members' names.
  private static func write(_ one: UploadedImport, to writer: inout JSONWriter) {
    writer.member("bytes", one.bytes)
    writer.member("cause", one.cause)
    writer.time("changedAt", one.changedAt)
    writer.time("createdAt", one.createdAt)
    writer.member("done", one.progress.done)
    writer.member("from", one.wish.preset.rawValue)
    writer.member("hasReport", one.hasReport)
    writer.member("importId", one.id)
    writer.member("plan", json: one.plan)
    writer.member("problemCount", one.problemCount)
    writer.member("problems", json: one.problems)
    writer.member("round", Int64(one.wish.round))
    writer.member("rows", one.progress.rows)
    writer.member("rowsPerMinute", one.progress.rowsPerMinute)
    writer.member("secondsLeft", one.state == .running ? one.progress.secondsLeft : nil)
    writer.member("share", json: share(one.wish.sharePerMille))
    writer.member("skipProblems", one.wish.skipsProblems)
    writer.member("state", one.state.rawValue)
    writer.member("summary", json: one.hasReport ? one.summary : nil)
    writer.member("tell", one.wish.tells)
  }

  /// Thousandths as a JSON number, such as `0.3`.
  static func share(_ perMille: Int32) -> [UInt8] {
    guard perMille < 1000 else { return Array("1".utf8) }
    var digits = Array(String(1000 + max(0, perMille)).utf8.dropFirst())
    while digits.count > 1, digits.last == UInt8(ascii: "0") { digits.removeLast() }
    return Array("0.".utf8) + digits
  }
}

extension ImportStore.Place {
  init(_ one: UploadedImport) { self.init(createdAt: one.createdAt, id: one.id) }

  /// Reads a cursor that ``cursor`` wrote; `nil` for any other text.
  init?(cursor: String) {
    guard let parts = PageRequest.timeAndId(cursor), ImportId.isValid(parts.id) else { return nil }
    self.init(createdAt: parts.time, id: ImportId(parts.id))
  }

  /// The cursor for the answer. Its content is not part of the contract.
  var cursor: String { "\(createdAt)-\(id)" }
}
