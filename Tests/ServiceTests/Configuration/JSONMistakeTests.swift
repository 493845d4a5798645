import Testing

@testable import Configuration

@Suite struct JSONMistakeTests {
  @Test(arguments: [
    ("{\"a\": 1,, }", 8, "line 1, column 9: ',' is unexpected; one comma is enough"),
    ("{\n \"a\": 1\n \"b\": 2}", 11, "line 3, column 2: '\"' is unexpected; is a comma missing before it?"),
    ("{\"a\": [1, ]}", 10, "line 1, column 11: ']' is unexpected; drop the comma before it"),
    ("{\"a\": 1,\n}", 9, "line 2, column 1: '}' is unexpected; drop the comma before it"),
    ("{ // all\n}", 2, "line 1, column 3: '/' is unexpected; JSON has no comments"),
    ("{'a': 1}", 1, "line 1, column 2: ''' is unexpected; a text stands in double quotation marks"),
    ("{\"a\": \u{7}}", 6, "line 1, column 7: the byte 7 is unexpected"),
    ("{\"a\": x}", 6, "line 1, column 7: 'x' is unexpected"),
    ("{\"a\": 1", 7, "it ends too early; is a quotation mark, } or ] missing?"), ("", 0, "the file is empty"),
  ])
  func `a mistake says where it is, what stands there, and what may help`(text: String, at: Int, says: String) {
    #expect("\(JSONMistake(at: at, in: Array(text.utf8)))" == says)
  }

  @Test(arguments: [-1, 3, .max, .min]) func `an offset outside the text is its start or its end`(offset: Int) {
    let mistake = JSONMistake(at: offset, in: [0x7b, 0x22])
    #expect(mistake.place == (offset < 0 ? "line 1, column 1" : "the end"))
  }
}
