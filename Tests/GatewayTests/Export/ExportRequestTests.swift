import HTTPServer
import Testing

@testable import Gateway
@testable import Ledger

/// The query of a request for an export, and what comes of one that cannot go on.
struct ExportRequestTests {
  private static let cursor = #"{"moment":{"at":"2026-11-28T08:00:00Z","history":"1-1","snapshot":100}}"#

  private func read(_ query: [(String, String)]) throws(Problem) -> ExportRequest {
    try ExportRequest(HTTPServerRequest(method: "GET", path: ["export"], query: query))
  }

  @Test func `without a cursor, an export begins`() throws {
    #expect(try read([]).after == nil)
    #expect(try read([("after", Self.cursor)]).after?.moment.snapshot == 100)
  }

  @Test func `a cursor has a longest length`() throws {
    let spaces = ExportRequest.maxCursorBytes - Self.cursor.utf8.count
    #expect(try read([("after", Self.cursor + String(repeating: " ", count: spaces))]).after != nil)
    let problem = #expect(throws: Problem.self) {
      _ = try read([("after", Self.cursor + String(repeating: " ", count: spaces + 1))])
    }
    #expect(problem?.detail == "after: expected at most 4096 bytes")
  }

  @Test(arguments: [("after", ""), ("after", "x"), ("limit", "5"), ("publisher", "7")])
  func `anything else is refused`(name: String, value: String) {
    let problem = #expect(throws: Problem.self) { _ = try read([(name, value)]) }
    #expect(problem?.status == 400 && problem?.code == "REQ0002")
    #expect(problem?.detail?.hasPrefix(name) == true)
  }

  @Test func `an export that cannot go on says what to do`() {
    #expect(Problem.refused(ExportRefused("", .erased)).code == "EXP0001")
    #expect(Problem.refused(ExportRefused("", .erased)).status == 410)
    #expect(Problem.refused(ExportRefused("", .otherHistory)).code == "EXP0002")
    #expect(Problem.refused(ExportRefused("")).status == 500)
  }
}
