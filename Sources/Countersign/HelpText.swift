/// Help in lines that fit on a terminal.
enum HelpText {
  /// The most columns of a line.
  static let width = 100

  /// Puts words into lines.
  ///
  /// - Parameters:
  ///   - beginning: of the first line.
  ///   - indent: the spaces before each further line.
  static func lines(_ words: [String], after beginning: String = "", indent: Int = 0) -> String {
    var (lines, line, isFresh) = ([String](), beginning, true)
    for word in words {
      if !isFresh, line.count + 1 + word.count > width {
        lines.append(line)
        (line, isFresh) = (String(repeating: " ", count: indent), true)
      }
      line += isFresh ? word : " " + word
      isFresh = false
    }
    while line.last == " " { line.removeLast() }
    return (lines + [line]).joined(separator: "\n")
  }

  /// Puts a text into lines.
  static func lines(_ text: String, after beginning: String = "", indent: Int = 0) -> String {
    lines(text.split(separator: " ").map(String.init), after: beginning, indent: indent)
  }

  /// A table of names and meanings, one below the other.
  static func table(_ rows: [(name: String, meaning: String)]) -> String {
    let width = (rows.map(\.name.count).max() ?? 0) + 4
    return rows.map { row in
      lines(
        row.meaning, after: "  " + row.name + String(repeating: " ", count: width - row.name.count - 2), indent: width)
    }.joined(separator: "\n")
  }

  /// The parts of a synopsis that stay on one line: `--publisher ID`, `[--output FILE [--resume]]`.
  static func parts(ofSynopsis synopsis: String) -> [String] {
    var (parts, depth) = ([String](), 0)
    for word in synopsis.split(separator: " ").map(String.init) {
      let isValue =
        parts.last.map { $0.hasPrefix("--") && !$0.contains(" ") } ?? false && !"-[|".contains(word.prefix(1))
      if let last = parts.last, depth > 0 || isValue {
        parts[parts.count - 1] = last + " " + word
      } else {
        parts.append(word)
      }
      depth += word.count { $0 == "[" } - word.count { $0 == "]" }
    }
    return parts
  }
}
