import Testing

@testable import Import

struct LineSplitterTests {
  private func lines(_ text: String, by size: Int) throws -> [String] {
    var (splitter, all) = (LineSplitter(), [String]())
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      try splitter.take(Array(rest.prefix(size)))
      rest = rest.dropFirst(size)
      while let line = splitter.next() { all.append(String(decoding: line, as: UTF8.self)) }
    }
    if let line = splitter.rest() { all.append(String(decoding: line, as: UTF8.self)) }
    #expect(splitter.rest() == nil && splitter.next() == nil)
    return all
  }

  @Test(arguments: 1...12) func `lines are the same however the bytes are cut`(size: Int) throws {
    #expect(try lines("a,b\n\nlonger line\r\nend", by: size) == ["a,b", "", "longer line\r", "end"])
    #expect(try lines("a\nb\n", by: size) == ["a", "b"])
    #expect(try lines("", by: size) == [])
  }

  @Test func `a line has a longest length`() throws {
    var splitter = LineSplitter(most: 4)
    try splitter.take(Array("ab\nabcde".utf8))
    let (first, none) = (splitter.next(), splitter.next())
    #expect(first == Array("ab".utf8) && none == nil)
    let error = #expect(throws: LineSplitter.TooLong.self) { try splitter.take([0x61]) }
    #expect(
      error?.description == "line 2: is longer than 4 bytes; write one row a line, and end each line with a line feed")
  }

  /// A file of another kind may be one line without an end.
  @Test(
    arguments: [
      ([], "[", 1, "the file is one JSON array"), ([0xef, 0xbb, 0xbf], " [", 1, "the file is one JSON array"),
      ([], "<html>", 1, "the file is HTML or XML"), ([0x1f, 0x8b], "x", 1, "the file is compressed (gzip)"),
      ([], "a", 1, "is longer than 9 bytes"), ([], "[", 2, "is longer than 9 bytes"),
    ] as [([UInt8], String, Int, String)])
  func `a long line tells which file it is`(mark: [UInt8], begin: String, line: Int, cause: String) {
    let problem = LineSplitter.TooLong(most: 9, line: line, beginning: mark + Array(begin.utf8)).problem
    #expect(problem.line == line && problem.cause == cause && !problem.remedy.isEmpty)
  }

  @Test func `what ends the reading is the one problem of the file`() {
    var lines = ["customer_id,transaction_id", "a,1"][...]
    let file = ImportFile(preset: .plain, verifier: NoSignatures()) { () throws(ImportProblem) -> [UInt8]? in
      if let line = lines.popFirst() { return Array(line.utf8) }
      throw LineSplitter.TooLong(most: 9, line: 3, beginning: [0x61]).problem
    }
    #expect(file.rows.isEmpty && file.problems.map { "\($0.line) \($0.cause)" } == ["3 is longer than 9 bytes"])
  }

  private struct NoSignatures: ImportVerifier {
    func purchases(in text: ImportSignedText) throws(ImportRefusal) -> [ImportSignedPurchase] { [] }
  }

  private func file(_ rows: [String], _ limits: ImportFile.Limits) -> ImportFile {
    var rest = (["customer_id,transaction_id"] + rows)[...]
    return ImportFile(preset: .plain, verifier: NoSignatures(), limits: limits) {
      rest.popFirst().map { Array($0.utf8) }
    }
  }

  @Test func `a file keeps no more rows and problems than it may`() {
    let rows = (1...5).map { "c\($0),\($0)" }
    #expect(file(rows, ImportFile.Limits(rows: 5)).rows.count == 5)
    let long = file(rows, ImportFile.Limits(rows: 4))
    #expect(long.rows.isEmpty && long.problems.map(\.line) == [6] && long.problemCount == 1)
    #expect(long.problems.first?.cause == "is the first one after 4 rows")
    let wrong = file(["a,x", "b,y", "c,z", "d,4"], ImportFile.Limits(problems: 2))
    #expect(wrong.problems.map(\.line) == [2, 3] && wrong.problemCount == 3 && wrong.rows.count == 1)
  }
}
