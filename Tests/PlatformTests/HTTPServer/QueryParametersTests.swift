import Testing

@testable import HTTPServer

/// The decoded parameters of raw queries, each as name, bar and value.
struct QueryParametersTests {
  @Test(arguments: [
    ("", []), ("a", ["a|"]), ("a=", ["a|"]), ("=", ["|"]), ("=a", ["|a"]), ("a=b", ["a|b"]), ("a=b=c", ["a|b=c"]),
    ("a=b&c=d", ["a|b", "c|d"]), ("a&b=c", ["a|", "b|c"]), ("a=b&", ["a|b"]), ("&", ["|"]), ("&&a", ["|", "|", "a|"]),
    ("a&&b", ["a|", "|", "b|"]), ("a?b=?", ["a?b|?"]), ("a+b=c+d+", ["a b|c d "]), ("a%2Bb=%26%3d", ["a+b|&="]),
    ("%C3%A4=%e2%82%ac", ["ä|€"]), ("ä=€", ["ä|€"]), ("a=+%20", ["a|  "]), ("a=%00", ["a|\u{0}"]),
    ("a=\u{301}b+\u{301}&\u{301}c", ["a|\u{301}b \u{301}", "\u{301}c|"]),
  ])
  func decoded(raw: String, parameters: [String]) {
    #expect(queryParameters(raw[...])?.map { "\($0.name)|\($0.value)" } == parameters)
  }

  @Test(arguments: ["a=%", "%4=a", "a=b&c=%GG", "a=%FF", "a=% 4", "a=%+1", "a=%C3&b=%A9"])
  func refused(raw: String) {
    #expect(queryParameters(raw[...]) == nil)
  }
}
