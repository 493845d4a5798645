import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import ServerSupport
import TestSupport
import Testing

/// Imports over HTTP, at a running fleet whose worker is killed.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ImportHTTPTests {
  /// What an answer shows of an import.
  private struct Import: Decodable {
    struct Problem: Decodable, Equatable {
      let line: Int
      let cause: String
    }
    struct Plan: Decodable { let rows: Int }
    struct Summary: Decodable {
      let rows: Int
      let withAccess: Int
    }
    let importId: String
    let state: String
    let bytes: Int
    let done: Int
    let earlier: Int?
    let problemCount: Int
    let problems: [Problem]?
    let plan: Plan?
    let summary: Summary?
    let cause: String?
  }

  private func id(_ number: Int) -> String { "1000000\(100_000 + number)" }

  private func text(_ rows: [String]) -> String {
    "customer_id,transaction_id,offer\n" + rows.map { $0 + "\n" }.joined()
  }

  private func ask(
    _ fleet: RunningFleet, _ method: String, _ path: String, _ body: String? = nil
  ) async throws -> HTTPClientResponse {
    try await fleet.send(method, fleet.url("/imports" + path), fleet.headers(RunningFleet.publisher), body)
  }

  private func read(_ answer: HTTPClientResponse, _ status: Int = 200) throws -> Import {
    #expect(answer.status == status, "\(String(decoding: answer.body, as: UTF8.self))")
    return try JSONDecoder().decode(Import.self, from: Data(answer.body))
  }

  private func reached(_ states: String..., of id: String, _ fleet: RunningFleet) async throws -> Import {
    // A run that died is taken over when its lease of 30 seconds is over.
    try await untilNothingIsMissing("the import is \(states)") {
      let one = try read(try await ask(fleet, "GET", "/\(id)"))
      if states.contains(one.state) { return [] }
      let open = max(0, (one.plan?.rows ?? 1000) - one.done)
      return ["the end of \(one.state)"] + (0..<open).map { "row \($0 + 1) of \(open) that are left" }
    }
    return try read(try await ask(fleet, "GET", "/\(id)"))
  }

  private func created(_ fleet: RunningFleet, _ wish: String, _ file: String) async throws -> String {
    let id = try read(try await ask(fleet, "POST", "", wish), 201).importId
    #expect(try read(try await ask(fleet, "POST", "/\(id)/file?offset=0", file)).bytes == file.utf8.count)
    return id
  }

  @Test func `an import is uploaded in parts, checked, started, and goes on at another worker`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let file = text((1...160).map { "c\($0),\(id($0))," })
      let new = try read(try await ask(fleet, "POST", "", #"{"from":"plain","share":0.001}"#), 201)
      let part = String(file.prefix(1000))
      #expect(try read(try await ask(fleet, "POST", "/\(new.importId)/file?offset=0", part)).bytes == 1000)
      // The answer was lost, and the part comes again.
      let again = try await ask(fleet, "POST", "/\(new.importId)/file?offset=0", part)
      #expect(again.status == 409 && again.header("upload-offset") == "1000")
      let rest = String(file.dropFirst(1000))
      let whole = try read(try await ask(fleet, "POST", "/\(new.importId)/file?offset=1000", rest))
      #expect(whole.bytes == file.utf8.count && whole.state == "uploading")
      #expect(try await ask(fleet, "GET", "/\(new.importId)/report").status == 409)

      #expect(try read(try await ask(fleet, "POST", "/\(new.importId)/check")).state == "checking")
      let checked = try await reached("checked", of: new.importId, fleet)
      #expect(checked.plan?.rows == 160 && checked.problemCount == 0)
      let before = (try await fleet.count("events"), try await fleet.count("synchronizations"))
      #expect(try read(try await ask(fleet, "POST", "/\(new.importId)/start")).state == "running")
      try await eventually("some rows are imported") { try await fleet.count("synchronizations") > before.1 + 20 }
      await fleet.kill("worker-1")
      #expect(try await fleet.count("synchronizations") < before.1 + 160)
      try fleet.start("worker-2")
      try await fleet.ready("worker-2")
      let finished = try await reached("finished", "failed", of: new.importId, fleet)
      #expect(finished.state == "finished" && finished.summary?.rows == 160 && finished.summary?.withAccess == 160)
      #expect(finished.done == 160)
      // Each row once, no event of any, and the file is gone.
      #expect(try await fleet.count("synchronizations") == before.1 + 160)
      #expect(try await fleet.count("events") == before.0)
      #expect(try await fleet.count("import_parts WHERE kind = 'file'") == 0)
      #expect(try await fleet.ledgerDifferences() == [])

      // The command says the same about the same file.
      let report = try await ask(fleet, "GET", "/\(new.importId)/report")
      #expect(report.status == 200 && report.header("content-type") == "application/jsonl")
      let path = fleet.folder + "/rows.csv"
      try Data(file.utf8).write(to: URL(filePath: path))
      _ = try await fleet.command([
        "import", "--publisher", "\(RunningFleet.publisher)", "--from", "plain", path, "--report", path + ".report",
      ])
      #expect(report.body == Array(try Data(contentsOf: URL(filePath: path + ".report"))))
      let actions = "audit WHERE actor LIKE 'publisher:%' AND action IN"
      #expect(try await fleet.count("\(actions) ('import.started', 'import.finished', 'import.reportRead')") == 3)
      #expect(try await ask(fleet, "DELETE", "/\(new.importId)").status == 204)
      #expect(try await ask(fleet, "GET", "/\(new.importId)").status == 404)
      #expect(try await fleet.count("import_parts") == 0)
    }
  }

  @Test func `a wrong file has problems with lines, and registers nothing`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let file = text(["a,\(id(1)),", ",\(id(2)),", "b,x,"])
      let wrong = try await created(fleet, #"{"from":"plain"}"#, file)
      _ = try await ask(fleet, "POST", "/\(wrong)/start")
      let checked = try await reached("checked", of: wrong, fleet)
      #expect(checked.problemCount == 2 && checked.problems?.map(\.line) == [3, 4])
      #expect(checked.problems?.first?.cause == "names no customer")
      #expect(try await fleet.count("synchronizations") == 0)
      let refused = try await ask(fleet, "POST", "/\(wrong)/start")
      #expect(refused.status == 409 && String(decoding: refused.body, as: UTF8.self).contains("IMP0004"))
      _ = try read(try await ask(fleet, "POST", "/\(wrong)/start", #"{"skipProblems":true}"#))
      #expect(try await reached("finished", of: wrong, fleet).summary?.rows == 1)
      let report = try await ask(fleet, "GET", "/\(wrong)/report")
      let lines = String(decoding: report.body, as: UTF8.self).split(separator: "\n")
      #expect(lines.count == 3 && lines[1] == #"{"line":3,"result":"skipped","cause":"names no customer"}"#)
      // One long line is a problem, and no failure.
      let array = try await created(fleet, #"{"from":"plain"}"#, #"[{"customer_id":"a","transaction_id":"1"}]"#)
      _ = try await ask(fleet, "POST", "/\(array)/check")
      let kind = try await reached("checked", of: array, fleet)
      #expect(kind.problems == [Import.Problem(line: 1, cause: "the file is one JSON array")])
      // A gateway of a newer version has accepted a preset that this worker does not know.
      let newer = try await created(fleet, #"{"from":"plain"}"#, file)
      try await fleet.execute("UPDATE imports SET preset = 'later' WHERE id = '\(newer)'")
      _ = try await ask(fleet, "POST", "/\(newer)/check")
      #expect(try await reached("failed", of: newer, fleet).cause?.contains("does not know the preset later") == true)
      // A token without the scope, and one of a customer, cannot upload.
      let jwt = [(name: "Authorization", value: "Bearer " + jwt(customer: 7, publisher: RunningFleet.publisher))]
      let url = fleet.url("/imports/\(wrong)/file?offset=0")
      #expect(try await fleet.send("POST", url, jwt, "x").status == 403)
      #expect(try await fleet.send("POST", url, [], "x").status == 401)
    }
  }

  @Test func `a cancelled import tells what it has done, and goes on`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let file = text((1...200).map { "c\($0),\(id($0))," })
      let one = try await created(fleet, #"{"from":"plain","share":0.001}"#, file)
      _ = try read(try await ask(fleet, "POST", "/\(one)/start"))
      try await eventually("some rows are imported") { try await fleet.count("synchronizations") > 5 }
      #expect(try read(try await ask(fleet, "POST", "/\(one)/cancel")).state == "cancelling")
      #expect(try await ask(fleet, "DELETE", "/\(one)").status == 409)
      let cancelled = try await reached("cancelled", of: one, fleet)
      let done = try await fleet.count("synchronizations")
      #expect(done < 200 && cancelled.summary.map { Int64($0.rows) } == done)
      let report = try await ask(fleet, "GET", "/\(one)/report")
      #expect(report.body.count { $0 == 0x0a } == 200)
      let lines = String(decoding: report.body, as: UTF8.self).split(separator: "\n")
      #expect(lines.count { $0.hasSuffix(#""result":"missing"}"#) } == 200 - Int(done))
      _ = try read(try await ask(fleet, "POST", "/\(one)/start"))
      let finished = try await reached("finished", of: one, fleet)
      #expect(finished.summary?.rows == 200)
      #expect(try await fleet.count("synchronizations") == 200)
    }
  }
}
