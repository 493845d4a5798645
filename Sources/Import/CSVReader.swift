/// Reads CSV after RFC 4180: commas between fields, quotes around a field that has commas, quotes or line ends.
///
/// A line may end with LF or CRLF, and the file may begin with a byte order mark. Empty lines are skipped.
struct CSVReader {
  /// The fields of a record, and the line of the file on which it begins.
  struct Record: Equatable {
    let line: Int
    let fields: [String]
  }

  /// A quote that does not stand where RFC 4180 has it. Nothing behind it can be read.
  struct Broken: Error, Equatable {
    let line: Int
    let cause: String
  }

  private static let (quote, comma, newline, carriageReturn) = (UInt8(0x22), UInt8(0x2c), UInt8(0x0a), UInt8(0x0d))

  private var rest: ArraySlice<UInt8>
  private var line = 1

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  /// Reads the next record; `nil` at the end.
  mutating func next() throws(Broken) -> Record? {
    skipEmptyLines()
    guard !rest.isEmpty else { return nil }
    let begin = line
    var fields: [String] = []
    repeat { fields.append(try field()) } while take(Self.comma)
    endLine()
    return Record(line: begin, fields: fields)
  }

  private mutating func skipEmptyLines() {
    while let byte = rest.first, byte == Self.newline || byte == Self.carriageReturn { endLine() }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard rest.first == byte else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func endLine() {
    _ = take(Self.carriageReturn)
    if take(Self.newline) { line += 1 }
  }

  private mutating func field() throws(Broken) -> String {
    guard take(Self.quote) else {
      let bytes = rest.prefix { $0 != Self.comma && $0 != Self.newline && $0 != Self.carriageReturn }
      guard !bytes.contains(Self.quote) else {
        throw Broken(line: line, cause: "a quote stands inside a field that has none around it")
      }
      rest = rest.dropFirst(bytes.count)
      return String(decoding: bytes, as: UTF8.self)
    }
    let begin = line
    var text: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == Self.quote, !take(Self.quote) {
        let next = rest.first
        guard next == nil || next == Self.comma || next == Self.newline || next == Self.carriageReturn else {
          throw Broken(line: line, cause: "something stands behind the quote that ends a field")
        }
        return String(decoding: text, as: UTF8.self)
      }
      if byte == Self.newline { line += 1 }
      text.append(byte)
    }
    throw Broken(line: begin, cause: "a field begins with a quote, and no quote ends it")
  }
}
