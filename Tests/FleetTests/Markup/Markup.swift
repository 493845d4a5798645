import JSON

/// Texts that a browser would obey if a page had them as they are. Each field of a test has one of its own, so that the
/// test sees where it comes back.
enum Markup {
  /// For a field that takes any text: elements, the end of an attribute and of a style, an address with a script, a
  /// separator of lines, and what turns text round. At most 140 bytes for a name of 20.
  static func text(_ field: String) -> String {
    "<script>alert(\"\(field)\")</script>\"><img src=x onerror=alert(1)>'&amp;</style>javascript:alert(1)"
      + "\u{2028}\u{202e}\(field)\u{2066}é"
  }

  /// For a field that takes visible ASCII only. At most 100 bytes for a name of 30.
  static func ascii(_ field: String) -> String {
    "\"><script>alert(\(field))</script><img/src=x/onerror=alert(1)>'&</style>"
  }

  /// For a field that a page shows as a part of JSON, which has an escape for quotes.
  static func unquoted(_ field: String) -> String { "<script>alert(\(field))</script><img src=x onerror=alert(1)>'&" }

  /// For a URL, which may not have more than this.
  static func query(_ field: String) -> String { "?\(field)='&next=javascript:alert(1)" }

  /// A text as JSON.
  static func json(_ text: String) -> String { String(decoding: JSONWriter.text(text), as: UTF8.self) }

  /// A text as a literal of SQL.
  static func sql(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }

  /// A text as the source of a page must have it: what means something to a browser is escaped, and what turns text
  /// round is replaced.
  static func shown(_ text: String) -> String {
    var source = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": source += "&amp;"
      case "<": source += "&lt;"
      case ">": source += "&gt;"
      case "\"": source += "&quot;"
      case "'": source += "&#39;"
      case _ where turning.contains(scalar): source += "\u{fffd}"
      default: source.unicodeScalars.append(scalar)
      }
    }
    return source
  }

  /// What turns the text behind it round, so that an id looks like another one.
  static let turning: Set<Unicode.Scalar> = [
    "\u{202a}", "\u{202b}", "\u{202c}", "\u{202d}", "\u{202e}", "\u{2066}", "\u{2067}", "\u{2068}", "\u{2069}",
  ]
}
