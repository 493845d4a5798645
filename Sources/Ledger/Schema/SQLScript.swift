/// Splits a text of SQL into its statements, because a prepared statement is a single one.
enum SQLScript {
  /// The statements without their semicolons.
  ///
  /// A semicolon in a comment, in a string, in a quoted name or in a body between dollar signs ends no statement.
  /// Strings with backslashes (`E'…'`) and comments within comments are not understood.
  static func statements(_ text: String) -> [String] {
    var statements: [String] = []
    var rest = Substring(text)
    var statement = ""
    var hasCode = false
    func end() {
      if hasCode { statements.append(statement.trimmed) }
      statement = ""
      hasCode = false
    }
    while let first = rest.first {
      let length: Int
      if rest.hasPrefix("--") {
        length = rest.prefix { !$0.isNewline }.count
      } else if rest.hasPrefix("/*") {
        length = through("*/", in: rest, from: 2)
      } else if first == "'" || first == "\"" {
        length = through(String(first), in: rest, from: 1)
        hasCode = true
      } else if let tag = dollarTag(rest) {
        length = through(tag, in: rest, from: tag.count)
        hasCode = true
      } else if first == ";" {
        rest = rest.dropFirst()
        end()
        continue
      } else {
        length = 1
        hasCode = hasCode || !first.isWhitespace
      }
      statement += rest.prefix(length)
      rest = rest.dropFirst(length)
    }
    end()
    return statements
  }

  /// The length up to and with the next mark; all of the rest if there is none.
  private static func through(_ mark: String, in text: Substring, from start: Int) -> Int {
    guard let range = text.dropFirst(start).firstRange(of: mark) else { return text.count }
    return text.distance(from: text.startIndex, to: range.upperBound)
  }

  /// `$$` or `$name$` at the beginning of a text.
  private static func dollarTag(_ text: Substring) -> String? {
    guard text.first == "$" else { return nil }
    let name = text.dropFirst().prefix { $0.isLetter || $0 == "_" }
    return text.dropFirst(1 + name.count).first == "$" ? "$\(name)$" : nil
  }
}

extension String {
  /// The text without white space at its beginning and its end.
  fileprivate var trimmed: String {
    String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }
}
