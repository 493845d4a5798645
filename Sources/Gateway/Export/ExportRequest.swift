import HTTPServer
import Ledger

/// The part of an export that the client asks for.
struct ExportRequest: Equatable {
  /// The most bytes of a cursor. Its longest part is the id of a customer, which JSON may write with six bytes for one.
  static let maxCursorBytes = 4096

  /// How far the client has the export; `nil` begins a new one.
  let after: ExportCursor?

  /// Reads the query, and refuses every unknown parameter.
  ///
  /// - Throws: ``Problem``: 400 REQ0002.
  init(_ request: HTTPServerRequest) throws(Problem) {
    try requireOnly(["after"], request)
    after = try request.query("after").map { text throws(Problem) in
      guard text.utf8.count <= Self.maxCursorBytes else {
        throw .invalidQuery("after: expected at most \(Self.maxCursorBytes) bytes")
      }
      do {
        return try ExportCursor(text)
      } catch {
        throw .invalidQuery("after: \(error)")
      }
    }
  }
}
