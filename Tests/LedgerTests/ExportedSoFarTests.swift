import Domain
import JSON
import Testing

@testable import Ledger

/// What a file has of an export, by value.
struct ExportedSoFarTests {
  private static let first = ExportMoment(snapshot: 100, history: "1-1", at: "2026-11-28T08:00:00Z")
  private static let second = ExportMoment(snapshot: 200, history: "1-1", at: "2026-11-28T09:00:00Z")

  private static let begun = ExportLine.begun(7, first)
  private func thing(_ kind: ExportKind, _ key: String...) -> [UInt8] {
    ExportLine.thing(ExportPosition(kind, key)) { $0.member("more", "}\"") }
  }

  private func read(_ lines: [UInt8]..., publisher: PublisherId = 7) throws -> ExportedSoFar {
    var soFar = ExportedSoFar(publisher: publisher)
    for line in lines { try soFar.take(line) }
    try soFar.finish()
    return soFar
  }

  @Test func `the lines say what they are, first of all`() {
    func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }
    #expect(
      text(Self.begun) == """
        {"kind":"export","format":1,"publisherId":7,\
        "moment":{"at":"2026-11-28T08:00:00Z","history":"1-1","snapshot":100}}
        """)
    #expect(
      text(thing(.purchase, "Production", "1\"0"))
        == #"{"kind":"purchase","key":["Production","1\"0"],"more":"}\""}"#)
    #expect(
      text(ExportLine.resumed(Self.second, behind: ExportPosition(.event, ["5", "6"]))) == """
        {"kind":"resumed","moment":{"at":"2026-11-28T09:00:00Z","history":"1-1","snapshot":200},\
        "position":{"kind":"event","key":["5","6"]}}
        """)
    #expect(text(ExportLine.caughtUp) == #"{"kind":"caughtUp"}"#)
    #expect(
      text(ExportLine.end([.purchase: 2]))
        == #"{"kind":"end","lines":{"audit":0,"customer":0,"event":0,"grant":0,"purchase":2,"sandboxAccess":0}}"#)
  }

  @Test func `an empty file has nothing, and a head has no position`() throws {
    let nothing = try read()
    #expect(nothing.moment == nil && nothing.position == nil && !nothing.isWhole)
    let head = try read(Self.begun)
    #expect(head.moment == Self.first && head.position == nil && head.counts == [:])
  }

  @Test func `an export goes on behind its last thing`() throws {
    let some = try read(Self.begun, thing(.customer, "a"), thing(.customer, "b"), thing(.purchase, "Production", "1"))
    #expect(some.position == ExportPosition(.purchase, ["Production", "1"]) && some.moment == Self.first)
    #expect(some.counts == [.customer: 2, .purchase: 1] && !some.isWhole)
  }

  @Test func `what a resumption writes again is no position, and its moment counts once it has caught up`() throws {
    let position = ExportPosition(.purchase, ["Production", "1"])
    let lines = [
      Self.begun, thing(.customer, "a"), thing(.purchase, "Production", "1"),
      ExportLine.resumed(Self.second, behind: position), thing(.customer, "a"),
    ]
    func read(_ more: [[UInt8]]) throws -> ExportedSoFar {
      var soFar = ExportedSoFar(publisher: 7)
      for line in lines + more { try soFar.take(line) }
      try soFar.finish()
      return soFar
    }
    let catching = try read([])
    #expect(catching.position == position && catching.moment == Self.first && catching.counts[.customer] == 2)
    let again = try read([ExportLine.resumed(Self.second, behind: position)])
    #expect(again.position == position && again.moment == Self.first)
    let caught = try read([ExportLine.caughtUp])
    #expect(caught.position == position && caught.moment == Self.second)
    let further = try read([ExportLine.caughtUp, thing(.event, "5", "6")])
    #expect(further.position == ExportPosition(.event, ["5", "6"]) && further.moment == Self.second)
    let whole = try read([ExportLine.caughtUp, ExportLine.end([:])])
    #expect(whole.isWhole)
  }

  @Test func `a break before the first thing goes on from the beginning`() throws {
    let soFar = try read(Self.begun, ExportLine.resumed(Self.second, behind: nil), ExportLine.caughtUp)
    #expect(soFar.position == nil && soFar.moment == Self.second)
  }

  private static func head(format: String = "1", publisher: String = "7", snapshot: String = "1") -> String {
    #"{"kind":"export","format":\#(format),"publisherId":\#(publisher),"#
      + #""moment":{"at":"","history":"","snapshot":\#(snapshot)}}"#
  }

  @Test(arguments: [
    ("", "line 1 is not a line"), ("hello", "line 1 is not a line"),
    (#"{"kind":"customer","key":["a"]}"#, "is not the beginning"),
    (#"{"kind":"export"}"#, "line 1 cannot be read"),
    (head(format: "2"), "has format 2"), (head(publisher: "8"), "is of publisher 8"),
    (head(snapshot: "1e99"), "cannot be read"), (head(snapshot: "99999999999999999999"), "cannot be read"),
  ])
  func `a file of another kind is refused`(line: String, problem: String) {
    let error = #expect(throws: ExportedSoFar.Unusable.self) { try read(Array(line.utf8)) }
    #expect(error?.description.contains(problem) == true, "\(error as Any)")
  }

  @Test func `a broken file is refused with its line`() {
    for (lines, problem) in [
      ([Array("{}".utf8)], "line 2 is not a line"), ([Array(#"{"kind":"cake"}"#.utf8)], "line 2 has an unknown kind"),
      ([ExportLine.caughtUp], "line 2 has nothing to catch up with"),
      ([ExportLine.end([:]), thing(.customer, "a")], "line 3 comes after the end"),
      ([Array(#"{"kind":"customer","key":7}"#.utf8)], "line 2 cannot be read"),
      ([Array(#"{"kind":"customer","key":["a"}"#.utf8)], "line 2 cannot be read"),
      ([Array(#"{"kind":"resumed"}"#.utf8)], "line 2 cannot be read"),
    ] {
      let error = #expect(throws: ExportedSoFar.Unusable.self) {
        var soFar = ExportedSoFar(publisher: 7)
        for line in [Self.begun] + lines { try soFar.take(line) }
        try soFar.finish()
      }
      #expect(error?.description.hasPrefix(problem) == true, "\(error as Any)")
    }
  }

  @Test func `a key of another kind is refused`() throws {
    let range = ExportRange(after: ["a"])
    #expect(throws: ExportRefused.self) { try ExportKind.event.parameters(7, range, 1) }
    #expect(throws: ExportRefused.self) { try ExportKind.audit.parameters(7, range, 1) }
    // PostgreSQL must find the negative of each number of the audit log.
    #expect(!ExportKind.audit.isKey(["-9223372036854775808"]) && !ExportKind.audit.isKey(["-2"]))
    #expect(ExportKind.audit.isKey(["-1"]) && ExportKind.audit.isKey(["9223372036854775807"]))
    #expect(throws: ExportRefused.self) { try ExportKind.purchase.parameters(7, range, 1) }
    #expect(try ExportKind.customer.parameters(7, range, 1).count == 7)
  }
}
