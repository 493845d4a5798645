import Domain
import HTTPServer
import Import
import Ledger
import Testing

@testable import Gateway

/// Requests about imports over HTTP, and their answers, by value.
struct ImportRequestTests {
  private func request(_ body: String) -> HTTPServerRequest {
    HTTPServerRequest(
      method: "POST", path: [], query: [], headers: body.isEmpty ? [] : [("Content-Type", "application/json")],
      body: Array(body.utf8))
  }

  private func wish(_ body: String) throws(Problem) -> UploadedImport.Wish {
    try requestedImport(request(body), ImportPresets(DoorCatalog()))
  }

  @Test func `a new import with the command's defaults, and with everything`() throws {
    #expect(try wish(#"{"from":"plain"}"#) == UploadedImport.Wish(preset: .plain))
    let all = #"{"from":"countersign","share":0.25,"tell":true,"skipProblems":true,"round":1000}"#
    #expect(
      try wish(all)
        == UploadedImport.Wish(
          preset: .countersign, sharePerMille: 250, tells: true, skipsProblems: true, round: 1000))
    #expect(try wish(#"{"from":"plain","share":1}"#).sharePerMille == 1000)
    #expect(try wish(#"{"from":"plain","share":1e-300}"#).sharePerMille == 1)
  }

  @Test func `a part counts as many writes as its bytes ask for`() {
    let quarter = 256 << 10
    #expect(
      [-1, 0, 1, quarter, quarter + 1, 2 * quarter, UploadedImport.mostPartBytes].map(RequestLimit.writes(in:))
        == [1, 1, 1, 1, 2, 2, 16])
  }

  @Test func `a refusal of a new import says what to delete`() {
    #expect(Problem(ImportStore.Room.enough) == nil)
    let refusals = [ImportStore.Room.tooManyOpen, .tooManyKept].compactMap { Problem($0) }
    #expect(refusals.map(\.code) == ["LIM0015", "LIM0015"])
    #expect(refusals[0].detail?.contains("3 imports that are not finished") == true)
    #expect(refusals[1].detail?.contains("20 imports, with finished ones") == true)
  }

  @Test(arguments: [
    #"{}"#, #"{"from":"other"}"#, #"{"from":1}"#, #"{"from":"plain","share":0}"#, #"{"from":"plain","share":-1}"#,
    #"{"from":"plain","share":1.0001}"#, #"{"from":"plain","share":1e308}"#, #"{"from":"plain","share":"0.3"}"#,
    #"{"from":"plain","tell":1}"#, #"{"from":"plain","round":0}"#, #"{"from":"plain","round":1001}"#,
    #"{"from":"plain","x":1}"#, "[]",
  ])
  func `what cannot be wanted`(body: String) {
    let problem = #expect(throws: Problem.self) { try wish(body) }
    #expect(problem?.status == 400 && problem?.code == "REQ0001")
  }

  @Test func `a start may say that rows are left out`() throws {
    #expect(try requestedSkip(request("")) == nil && requestedSkip(request("{}")) == nil)
    #expect(try requestedSkip(request(#"{"skipProblems":true}"#)) == true)
    #expect(throws: Problem.self) { try requestedSkip(request(#"{"skip":true}"#)) }
  }

  @Test(arguments: [(1, "0.001"), (10, "0.01"), (300, "0.3"), (250, "0.25"), (999, "0.999"), (1000, "1"), (5000, "1")])
  func `a share is a number of JSON`(perMille: Int32, text: String) {
    #expect(String(decoding: ImportAnswer.share(perMille), as: UTF8.self) == text)
  }

  @Test func `each refusal has its status and its code`() {
    let all: [(ImportStepRefusal, Int, String)] = [
      (.offset(expected: 5), 409, "IMP0001"), (.state(.running), 409, "IMP0002"), (.noFile, 409, "IMP0002"),
      (.tooLong, 413, "IMP0003"), (.tooManyParts, 413, "IMP0003"), (.problems(2), 409, "IMP0004"),
      (.empty, 400, "REQ0001"),
    ]
    for (refusal, status, code) in all {
      let problem = Problem(refusal)
      #expect(problem.status == status && problem.code == code)
    }
    #expect(Problem(.offset(expected: 5)).headers == ["Upload-Offset": "5"])
  }

  @Test func `cursors are read as they are written`() {
    let place = ImportStore.Place(createdAt: 123, id: "imp_00000000000000000000000000000000")
    #expect(ImportStore.Place(cursor: place.cursor) == place)
    for wrong in ["", "1", "1-x", "x-\(place.id)", place.cursor + "0"] {
      #expect(ImportStore.Place(cursor: wrong) == nil)
    }
  }

  @Test func `an answer has no worker, and a report's counts only with the report`() {
    var one = UploadedImport(
      id: "imp_1", publisherId: 7, wish: UploadedImport.Wish(preset: .plain), token: "secret-name", createdAt: 0)
    (one.worker, one.summary, one.state) = ("w-1", Array(#"{"rows":1}"#.utf8), .running)
    (one.progress.rows, one.progress.done, one.progress.rowsPerMinute) = (10, 4, 60)
    let text = String(decoding: ImportAnswer.written(one), as: UTF8.self)
    #expect(
      text == #"{"bytes":0,"changedAt":"1970-01-01T00:00:00.000Z","createdAt":"1970-01-01T00:00:00.000Z","done":4,"#
        + #""from":"plain","hasReport":false,"importId":"imp_1","problemCount":0,"round":1,"rows":10,"#
        + #""rowsPerMinute":60,"secondsLeft":6,"share":0.3,"skipProblems":false,"state":"running","tell":false}"#)
    one.state = .finished
    let finished = String(decoding: ImportAnswer.written(one), as: UTF8.self)
    #expect(finished.contains(#""summary":{"rows":1}"#) && !finished.contains("secondsLeft"))
    let list = String(decoding: ImportAnswer.list([one, one], next: nil, most: 10), as: UTF8.self)
    #expect(list.contains(#""nextCursor":"0-imp_1""#))
  }
}
