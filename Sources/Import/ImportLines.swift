/// The lines of a file, read one after the other. So nobody holds the whole file in memory.
///
/// It refuses what is not a text: a text that is repaired would be another customer's id.
struct ImportLines {
  /// The number of the line that was read last, from 1.
  private(set) var number = 0
  /// Where this line begins in the file, in bytes.
  private(set) var offset: Int64 = 0
  private var end: Int64 = 0
  /// The line that ``peek()`` has read.
  private var ahead: [UInt8]?
  private let read: () throws(ImportProblem) -> [UInt8]?

  /// The byte order mark of UTF-8.
  static let mark: [UInt8] = [0xef, 0xbb, 0xbf]

  /// - Parameter read: reads the next line without its line feed; `nil` at the end. It throws why the whole file cannot
  ///   be used.
  init(_ read: @escaping () throws(ImportProblem) -> [UInt8]?) { self.read = read }

  /// Returns the next line without its line feed; `nil` at the end.
  ///
  /// - Throws: why the whole file cannot be used.
  mutating func next() throws(ImportProblem) -> [UInt8]? {
    if let line = ahead {
      ahead = nil
      return line
    }
    guard var line = try read() else { return nil }
    number += 1
    (offset, end) = (end, end + Int64(line.count) + 1)
    if number == 1 {
      if line.starts(with: Self.mark) { line.removeFirst(Self.mark.count) }
      if let defect = ImportFileKind.defect(ofFirst: line) { throw defect }
    }
    guard !line.contains(0), String(validating: line, as: UTF8.self) != nil else {
      throw ImportProblem(line: number, "the line is not a text in UTF-8", ImportFileKind.utf8)
    }
    return line
  }

  /// Returns the next line that is not blank, and leaves it the next one; `nil` at the end.
  mutating func peek() throws(ImportProblem) -> [UInt8]? {
    while let line = try next() {
      guard line.allSatisfy(\.isBlank) else {
        ahead = line
        return line
      }
    }
    return nil
  }
}

extension UInt8 {
  var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0d || self == 0x0a }
}
