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

  private var lines: ImportLines
  /// What is left of the line that was read last, with its end.
  private var rest: ArraySlice<UInt8> = []

  init(_ lines: ImportLines) { self.lines = lines }

  /// Reads the next record; `nil` at the end.
  mutating func next() throws(Stop) -> Record? {
    while true {
      rest = rest.drop { $0 == Self.newline || $0 == Self.carriageReturn }
      if !rest.isEmpty { break }
      guard try load() else { return nil }
    }
    let (line, offset) = (lines.number, lines.offset)
    var fields: [String] = []
    repeat { fields.append(try field()) } while take(Self.comma)
    return Record(line: line, offset: offset, fields: fields)
  }

  /// Reads the next line; false at the end.
  private mutating func load() throws(Stop) -> Bool {
    do throws(ImportProblem) {
      guard var line = try lines.next() else { return false }
      line.append(Self.newline)
      rest = line[...]
      return true
    } catch {
      throw .unusable(error)
    }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard rest.first == byte else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func field() throws(Stop) -> String {
    guard take(Self.quote) else {
      let bytes = rest.prefix { $0 != Self.comma && $0 != Self.newline && $0 != Self.carriageReturn }
      guard !bytes.contains(Self.quote) else {
        throw broken(lines.number, "a quote stands inside a field that has none around it")
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
            throw broken(lines.number, "something stands behind the quote that ends a field")
          }
          return String(decoding: text, as: UTF8.self)
        }
        text.append(byte)
      }
    } while try load()
    throw broken(begin, "a field begins with a quote, and no quote ends it")
  }

  private func broken(_ line: Int, _ cause: String) -> Stop {
    .broken(ImportProblem(line: line, cause, "write two quotes for one inside a field; the rest is not read"))
  }
}
