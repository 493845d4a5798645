import Configuration
import Formats
import Testing

@testable import Console

/// What a stranger writes stays text.
struct HTMLTests {
  /// A form that was refused sends back what a person has typed.
  @Test func `a field of several lines keeps its text`() {
    let text = "\nעברית \u{2067}a\u{2069} </textarea><script>"
    #expect(
      HTML.textarea([.of(.name, "text")], text).source
        == "<textarea name=\"text\">\n\nעברית \u{2067}a\u{2069} &lt;/textarea&gt;&lt;script&gt;</textarea>")
  }

  @Test(arguments: [
    ("plain", "plain"), ("<script>", "&lt;script&gt;"), ("a & b", "a &amp; b"), ("\"'", "&quot;&#39;"),
    ("\u{0}\u{1b}", "\u{fffd}\u{fffd}"), ("two\nlines", "two\nlines"), ("é \u{200f}\u{2028}", "é \u{200f}\u{2028}"),
    ("7\u{202e}8\u{2066}", "7\u{fffd}8\u{fffd}"), ("&lt;", "&amp;lt;"), ("e\u{301}<", "e\u{301}&lt;"),
    ("\u{338}>", "\u{338}&gt;"),
  ])
  func `a text is escaped`(text: String, escaped: String) {
    #expect(HTML.text(text).source.utf8.elementsEqual(escaped.utf8))
  }

  /// U+0338 behind `>` makes one character with it, and stays two for a browser.
  @Test func `a mark that combines hides no sign`() {
    #expect(!HTML.text("<b>\u{338}").source.unicodeScalars.contains(">"))
  }

  @Test func `an attribute cannot be left`() {
    let element = HTML.element(.span, [.title("\" onclick=\"alert(1)")], [.text("x")])
    #expect(element.source == "<span title=\"&quot; onclick=&quot;alert(1)\">x</span>")
    // A form sends back the id that it got.
    #expect(HTML.hidden("to", "7\u{202e}").source.contains("value=\"7\u{202e}\""))
  }

  @Test(arguments: [
    ("javascript:alert(1)", "/c/javascript%3Aalert%281%29"), ("//evil", "/c/%2F%2Fevil"), ("a b\"", "/c/a%20b%22"),
    // A browser takes both as steps, also percent-encoded.
    ("..", "/c/~.."), (".", "/c/~."), ("~..", "/c/~~.."), ("~", "/c/~~"), ("...", "/c/..."),
  ])
  func `an address is a path`(segment: String, address: String) throws {
    #expect(Link("/c", [segment]).address == address)
    let last = try #require(address.split(separator: "/").last)
    #expect(PagePath.segment(ofDecoded: PercentCoding.decoded(last) ?? "") == segment)
  }

  @Test func `an address has a query`() {
    #expect(Link("", ["find"], query: [("q", "a&b=c")]).address == "/find?q=a%26b%3Dc")
    #expect(Link("", []).address == "/")
  }

  /// A handler of a script is an attribute that begins with `on`; a style needs another policy.
  @Test func `no element and no attribute runs anything`() {
    #expect(Set(HTML.Tag.allCases.map(\.rawValue)).isDisjoint(with: ["script", "style", "iframe", "object", "base"]))
    let names = Attribute.Name.allCases.map(\.rawValue)
    #expect(!names.contains { $0.hasPrefix("on") || ["style", "src", "href", "action", "srcdoc"].contains($0) })
  }

  @Test(
    arguments: [
      (3 * 86_400_000, "in 3 days"), (-86_400_000, "1 day ago"), (-7_200_000, "2 hours ago"), (61_000, "in 1 minute"),
      (0, "now"), (-100 * 86_400_000, "20 Jul 2001"),
    ] as [(Int64, String)])
  func `a time is near`(distance: Int64, words: String) {
    // 2001-10-28T12:00:00Z
    let now: Int64 = 1_004_270_400_000
    #expect(ConsoleTime.near(now + distance, now: now) == words)
  }

  @Test func `any time has words`() {
    for time in [Int64.min, -1, 0, .max] {
      #expect(!ConsoleTime.near(time, now: 0).isEmpty)
      #expect(!ConsoleTime.exact(time).isEmpty)
    }
    #expect(ConsoleTime.exact(1_004_270_400_000) == "28 Oct 2001, 12:00:00 UTC")
  }

  @Test(arguments: [
    (#"{"a":1}"#, #"{"a":1}"#), (#"{"<b>":"</b>\\<"}"#, #"{"\u003cb\u003e":"\u003c/b\u003e\\\u003c"}"#), ("", ""),
  ])
  func `JSON has no element`(json: String, inert: String) {
    #expect(String(decoding: ConsoleAnswer.inert(Array(json.utf8)), as: UTF8.self) == inert)
  }

  @Test func `JSON has lines`() {
    let text = PrettyJSON.text(Array(#"{"a":[1,"}\",{"],"b":2}"#.utf8))
    #expect(text == "{\n  \"a\": [\n    1,\n    \"}\\\",{\"\n  ],\n  \"b\": 2\n}")
    #expect(!PrettyJSON.text(Array("]]]}}{{".utf8)).isEmpty)
  }
}
