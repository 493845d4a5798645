/// A field of a CSV file.
public enum CSVField: Sendable, Equatable {
  /// NULL: nothing at all between the commas.
  case null
  /// A text that somebody chose.
  case text(String)
  /// A number, a time or a flag as the ledger writes it.
  case value(String)

  /// Returns a line of fields after RFC 4180, with its line end: `7,Production,"a ""b""",,true`.
  ///
  /// An empty text is `""`, and so differs from NULL. A spreadsheet takes a text that begins with `=`, `+`, `-` or `@`
  /// for a formula, and runs it. Such a text gets an apostrophe before it.
  public static func line(_ fields: [CSVField]) -> [UInt8] {
    var line: [UInt8] = []
    for (index, field) in fields.enumerated() {
      if index > 0 { line.append(UInt8(ascii: ",")) }
      switch field {
      case .null: break
      case .value(let value): append(value, to: &line)
      case .text(let text): append(isFormula(text) ? "'" + text : text, to: &line)
      }
    }
    line += [0x0d, 0x0a]
    return line
  }

  private static func isFormula(_ text: String) -> Bool {
    guard let first = text.utf8.first else { return false }
    // A spreadsheet drops a tab or a line end before it looks.
    return "=+-@\t\r\n".utf8.contains(first)
  }

  private static func append(_ text: String, to line: inout [UInt8]) {
    let quote = UInt8(ascii: "\"")
    guard text.isEmpty || text.utf8.contains(where: { "\",\r\n".utf8.contains($0) }) else {
      line += text.utf8
      return
    }
    line.append(quote)
    for byte in text.utf8 {
      if byte == quote { line.append(quote) }
      line.append(byte)
    }
    line.append(quote)
  }
}
