/// Reads CSV after RFC 4180: commas between fields, quotes around a field that has commas, quotes or line ends.
///
/// A line may end with LF or CRLF. Empty lines are skipped.
struct CSVReader {
  /// The fields of a record, and the line of the file on which it begins.
  struct Record: Equatable {
    let line: Int
    /// Where this line begins in the file, in bytes.
    let offset: Int64
    let fields: [String]
  }

  /// Why nothing more can be read.
  enum Stop: Error, Equatable {
    /// A quote does not stand where RFC 4180 has it. What was read before counts.
    case broken(ImportProblem)
    /// The whole file cannot be used.
    case unusable(ImportProblem)
  }

  private static let (quote, comma, newline, carriageReturn) = (UInt8(0x22), UInt8(0x2c), UInt8(0x0a), UInt8(0x0d))

  /// The most bytes of a record, with its line ends, and its most fields: a quoted field takes lines until its end.
  static let (mostBytes, mostFields) = (8 << 20, 1000)

  private let limit: Int
  private var lines: ImportLines
  /// The bytes of this record's lines.
  private var bytes = 0
  /// What is left of the line that was read last, with its end.
  private var rest: ArraySlice<UInt8> = []

  /// - Parameter limit: the most bytes of a record.
  init(_ lines: ImportLines, limit: Int = mostBytes) { (self.lines, self.limit) = (lines, limit) }

  /// Reads the next record; `nil` at the end.
  mutating func next() throws(Stop) -> Record? {
    while true {
      rest = rest.drop { $0 == Self.newline || $0 == Self.carriageReturn }
      if !rest.isEmpty { break }
      bytes = 0
      guard try load(from: lines.number + 1) else { return nil }
    }
    let (line, offset) = (lines.number, lines.offset)
    var fields: [String] = []
    repeat {
      guard fields.count < Self.mostFields else {
        throw .broken(
          ImportProblem(
            line: line, "has more than \(Self.mostFields) fields",
            "leave out the columns that the preset does not name; the rest is not read"))
      }
      fields.append(try field(of: line))
    } while take(Self.comma)
    return Record(line: line, offset: offset, fields: fields)
  }

  /// Reads the next line of the record that begins on a line; false at the end.
  private mutating func load(from begin: Int) throws(Stop) -> Bool {
    do throws(ImportProblem) {
      guard var line = try lines.next() else { return false }
      line.append(Self.newline)
      rest = line[...]
      bytes += line.count
    } catch {
      throw .unusable(error)
    }
    guard bytes <= limit else {
      throw .broken(
        ImportProblem(
          line: begin, "has more than \(limit) bytes",
          "end the field with a quote, or shorten it; the rest is not read"))
    }
    return true
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard rest.first == byte else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func field(of record: Int) throws(Stop) -> String {
    guard take(Self.quote) else {
      let bytes = rest.prefix { $0 != Self.comma && $0 != Self.newline && $0 != Self.carriageReturn }
      guard !bytes.contains(Self.quote) else {
        throw broken(lines.number, "a quote is inside a field that is not quoted")
      }
      rest = rest.dropFirst(bytes.count)
      return String(decoding: bytes, as: UTF8.self)
    }
    let begin = lines.number
    var text: [UInt8] = []
    repeat {
      while let byte = rest.popFirst() {
        if byte == Self.quote, !take(Self.quote) {
          guard let next = rest.first, next == Self.comma || next == Self.newline || next == Self.carriageReturn else {
            throw broken(lines.number, "there is text after the quote that ends a field")
          }
          return String(decoding: text, as: UTF8.self)
        }
        text.append(byte)
      }
    } while try load(from: record)
    throw broken(begin, "a field begins with a quote, and no quote ends it")
  }

  private func broken(_ line: Int, _ cause: String) -> Stop {
    .broken(ImportProblem(line: line, cause, "write two quotes for one inside a field; the rest is not read"))
  }
}
