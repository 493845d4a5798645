/// What makes a whole file unusable, whatever its rows have.
enum ImportFileKind {
  static let utf8 = "save it in UTF-8, for example with iconv -t UTF-8"

  /// The files of other kinds that people give to an import, by their first bytes.
  private static let others: [(begin: [UInt8], cause: String, remedy: String)] = [
    ([0x1f, 0x8b], "the file is compressed (gzip)", "unpack it with gunzip"),
    ([0x50, 0x4b, 0x03, 0x04], "the file is a spreadsheet or a zip archive", "unpack it, or save it as CSV in UTF-8"),
    ([0xff, 0xfe], "the file is in UTF-16", utf8),
    ([0xfe, 0xff], "the file is in UTF-16", utf8),
    ([0x5b], "the file is one JSON array", "write one object a line, for example with jq -c '.[]'"),
    ([0x3c], "the file is HTML or XML", "save it as CSV in UTF-8, or as JSON lines"),
  ]

  /// Why no row of a file can be read that begins with some bytes, such as its first line; `nil` if rows can.
  static func defect(ofFirst bytes: [UInt8]) -> ImportProblem? {
    let text = bytes.drop(while: \.isBlank)
    return others.first { text.starts(with: $0.begin) }.map { ImportProblem(line: 1, $0.cause, $0.remedy) }
  }
}
