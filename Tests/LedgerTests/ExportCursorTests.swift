import Domain
import Testing

@testable import Ledger

/// How far a client says that it has an export.
struct ExportCursorTests {
  private static let moment = #""moment":{"at":"2026-11-28T08:00:00Z","history":"1-1","snapshot":100}"#

  @Test func `a cursor says what the lines of a file say`() throws {
    let cursor = try ExportCursor(
      """
      {\(Self.moment),"position":{"kind":"purchase","key":["Production","2000"]},"lines":{"customer":5,"purchase":2}}
      """)
    var file = ExportedSoFar(publisher: 7)
    try file.take(ExportLine.begun(7, ExportMoment(snapshot: 100, history: "1-1", at: "2026-11-28T08:00:00Z")))
    for number in 1...5 { try file.take(ExportLine.thing(ExportPosition(.customer, ["c\(number)"])) { _ in }) }
    for id in ["1000", "2000"] {
      try file.take(ExportLine.thing(ExportPosition(.purchase, ["Production", id])) { _ in })
    }
    try file.finish()
    #expect(ExportedSoFar(publisher: 7, cursor) == file)
  }

  @Test func `a cursor without a line has a moment alone, and its other members do not count`() throws {
    let cursor = try ExportCursor(#"{\#(Self.moment),"more":[1]}"#)
    #expect(cursor.moment.snapshot == 100 && cursor.position == nil && cursor.counts.isEmpty)
  }

  @Test(arguments: [
    ("", "expected JSON"), ("{}", "expected JSON"), ("[]", "expected JSON"), (#"{"moment":{}}"#, "expected JSON"),
    (#"{"moment":{"at":"","history":"1-1","snapshot":-1}}"#, "moment.snapshot"),
    (#"{"moment":{"at":"","history":"1-1","snapshot":9223372036854775808}}"#, "expected JSON"),
    (#"{\#(moment),"position":{"kind":"other","key":["1"]}}"#, "expected JSON"),
    (#"{\#(moment),"position":{"kind":"customer","key":[]}}"#, "position.key"),
    (#"{\#(moment),"position":{"kind":"customer","key":["a","b"]}}"#, "position.key"),
    (#"{\#(moment),"position":{"kind":"customer","key":["a\u0000"]}}"#, "position.key"),
    (#"{\#(moment),"position":{"kind":"event","key":["1","x"]}}"#, "position.key"),
    (#"{\#(moment),"position":{"kind":"audit","key":["9223372036854775808"]}}"#, "position.key"),
    (#"{\#(moment),"lines":{"customer":-1}}"#, "lines"), (#"{\#(moment),"lines":{"other":1}}"#, "lines"),
    (#"{\#(moment),"lines":{"customer":9223372036854775807}}"#, "lines"),
  ])
  func `anything else is no cursor`(text: String, what: String) {
    let error = #expect(throws: ExportCursor.Unusable.self) { _ = try ExportCursor(text) }
    #expect(error?.description.hasPrefix(what) == true, "\(error?.description ?? "")")
  }
}
