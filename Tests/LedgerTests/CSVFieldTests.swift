import Ledger
import Testing

/// Lines of CSV, by value.
struct CSVFieldTests {
  private func line(_ fields: CSVField...) -> String { String(decoding: CSVField.line(fields), as: UTF8.self) }

  @Test func `fields stand between commas, and the line ends with CR LF`() {
    #expect(line(.value("7"), .text("Production"), .value("true")) == "7,Production,true\r\n")
    #expect(line(.text("one")) == "one\r\n")
  }

  @Test func `an empty text differs from NULL`() {
    #expect(line(.null, .text(""), .null) == ",\"\",\r\n")
  }

  @Test(arguments: [
    ("a,b", "\"a,b\""), ("say \"so\"", "\"say \"\"so\"\"\""), ("a\nb", "\"a\nb\""), ("a\r\nb", "\"a\r\nb\""),
    ("\"", "\"\"\"\""), ("Käse 🧀", "Käse 🧀"), ("a;b", "a;b"), (" a ", " a "),
  ])
  func `what would end a field is quoted`(text: String, expected: String) {
    #expect(line(.text(text)) == expected + "\r\n")
  }

  @Test(arguments: [
    ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"),
    ("\r=1", "\"'\r=1\""), ("\n=1", "\"'\n=1\""), ("=\"a\",1", "\"'=\"\"a\"\",1\""), ("a=1", "a=1"), ("'=1", "'=1"),
  ])
  func `a text is no formula`(text: String, expected: String) { #expect(line(.text(text)) == expected + "\r\n") }

  @Test func `a number keeps its sign`() { #expect(line(.value("-1.500"), .value("+1")) == "-1.500,+1\r\n") }
}
