import Testing

@testable import Console

/// The reader that looks for markup finds it.
struct ShownPageTests {
  private static func page(_ source: String) -> ShownPage { ShownPage("<!DOCTYPE html>\n\(source)\n") }

  @Test(arguments: [
    "<p>\(Markup.text("a"))</p>", "<p>\(Markup.ascii("a"))</p>", "<p title=\"\(Markup.ascii("a"))\"></p>",
    "<p><script>alert(1)</script></p>", "<p><u>a</u></p>", "<p onclick=\"a\"></p>", "<p style=\"a\"></p>", "<p>'</p>",
    "<p>a & b</p>", "<p>&copy;</p>", "<p>\u{202e}</p>", "<p>\u{1b}</p>", "<p></style></p>", "<p>", "<p><a></p></a>",
    "<a href=\"javascript:alert(1)\"></a>", "<a href=\"//evil.example\"></a>", "<form action=\"https://evil\"></form>",
    "<p title='a'></p>", "<p title=a></p>", "<p title=\"a\" title=\"b\"></p>", "<!-- a --><p></p>", "<p title=\"a'\">",
    "<script src=\"/other.js\" defer></script>",
  ])
  func `markup is a fault`(source: String) { #expect(!Self.page(source).faults.isEmpty) }

  @Test func `a page of the console has none`() {
    let field = HTML.hidden("step", Markup.text("a"))
    let content = HTML.element(
      .p, [.title(Markup.ascii("b"))], [.text(Markup.text("c")), .link(Link("", [Markup.text("d")]), "e"), field])
    let document = HTML.document("", head: [.element(.title, [], [.text(Markup.ascii("f"))])], body: [content])
    #expect(ShownPage(document.source).faults == [])
    #expect(document.source.contains(Markup.shown(Markup.text("c"))))
    #expect(ShownPage("<p></p>").faults != [])
  }

  @Test func `links and forms are read as a browser reads them`() throws {
    let page = Self.page(
      #"<form method="post" action="/a&amp;b"><input type="hidden" name="n" value="&lt;&amp;lt;">"#
        + #"<input name="q" type="date"><textarea name="t"></textarea><select name="s"><option value="1">1</option>"#
        + #"<option value="2" selected="selected">2</option></select></form><a href="/x?a=1&amp;b=2">y</a>"#)
    #expect(page.faults == [] && page.links == ["/x?a=1&b=2"])
    let form = try #require(page.forms.first)
    #expect(form.method == "post" && form.action == "/a&b")
    #expect(form.fields.map { "\($0.name)=\($0.value)" } == ["n=<&lt;", "s=2"])
    #expect(form.asks.map { "\($0.name):\($0.type)" } == ["q:date", "t:text"])
  }
}
