import Testing

@testable import HTTPServer

/// The decoded segments of raw paths.
struct PathSegmentsTests {
  @Test(arguments: [
    ("", []), ("/", []), ("//", []), ("/a", ["a"]), ("a", ["a"]), ("/a/b/", ["a", "b"]), ("//a///b", ["a", "b"]),
    ("/a%2Fb/c", ["a/b", "c"]), ("/a%2fb", ["a/b"]), ("/%41%42", ["AB"]), ("/%C3%A9", ["é"]), ("/%25", ["%"]),
    ("/%2541", ["%41"]), ("/a+b", ["a+b"]), ("/%20", [" "]), ("/%00", ["\u{0}"]), ("/..", [".."]), ("/%2E%2E", [".."]),
    ("/é", ["é"]),
  ])
  func decoded(raw: String, segments: [String]) {
    #expect(pathSegments(raw[...]) == segments)
  }

  @Test(arguments: ["/%", "/%4", "/a%", "/%4/1", "/%GG", "/% 4", "/%FF", "/%C3", "/%C3/%A9", "/%ED%A0%80", "/a/%zz/b"])
  func refused(raw: String) {
    #expect(pathSegments(raw[...]) == nil)
  }

  /// An escape is two hexadecimal digits; a sign is not a digit.
  @Test(arguments: ["/%+1", "/%-0", "/a%+Fb"])
  func signsAreNoDigits(raw: String) {
    #expect(pathSegments(raw[...]) == nil)
  }

  @Test func headersAreFoundWhateverTheirCapitals() {
    let request = HTTPServerRequest(
      method: "GET", path: [], headers: [("CONTENT-type", "first"), ("content-type", "second")])
    #expect(request.header("Content-Type") == "first")
    #expect(request.header("Content") == nil)
    // These characters are as far apart as a letter and its capital, but they are no letters.
    #expect(HTTPServerRequest(method: "GET", path: [], headers: [("x^", "first")]).header("x~") == nil)
  }
}
