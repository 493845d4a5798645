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
    #expect(splitter.next() == Array("ab".utf8) && splitter.next() == nil)
    let error = #expect(throws: LineSplitter.TooLong.self) { try splitter.take([0x61]) }
    #expect(error?.most == 4)
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
    #expect(long.problems.first?.cause == "is the first one behind 4 rows")
    let wrong = file(["a,x", "b,y", "c,z", "d,4"], ImportFile.Limits(problems: 2))
    #expect(wrong.problems.map(\.line) == [2, 3] && wrong.problemCount == 3 && wrong.rows.count == 1)
  }
}
