import HTTPServer
import Testing

@testable import Console

/// Which pages the console's script may read again, and what they let a browser run.
struct LiveRegionTests {
  private static let evil = "<script>alert('x')</script>\"&"

  /// The parts of a page that the script replaces, each with its id and its seconds.
  private static func regions(_ page: Document) -> [(id: String, seconds: String, inside: Substring)] {
    page.source.matches(of: /<div id="([^"]+)" data-live="([^"]+)">/).map { match in
      let rest = page.source[match.range.upperBound...]
      // What a stranger wrote is escaped, so each tag is one of the console's.
      var depth = 1
      for tag in rest.matches(of: /<(\/?)div[ >]/) {
        depth += tag.1.isEmpty ? 1 : -1
        if depth == 0 { return (String(match.1), String(match.2), rest[..<tag.range.lowerBound]) }
      }
      return (String(match.1), String(match.2), rest)
    }
  }

  private static func policy(_ answer: HTTPServerResponse) -> String? {
    let values = answer.headers.filter { $0.name == "Content-Security-Policy" }.map(\.value)
    return values.count == 1 ? values.first : nil
  }

  @Test func `a page with regions has the script once, and what a stranger wrote stays text`() throws {
    for (name, page) in try LivePages(Self.evil).all {
      #expect(page.isLive && page.source.ranges(of: Document.script).count == 1, "\(name)")
      #expect(page.source.ranges(of: "<script").count == 1, "\(name)")
      #expect(page.source.contains("&lt;script&gt;") && !page.source.contains("alert('x')"), "\(name)")
      #expect(!page.source.contains("style=") && page.source.firstMatch(of: /[ ]on[a-z]+=/) == nil, "\(name)")
    }
  }

  @Test func `each region exists, and appears once`() throws {
    var seen: Set<String> = []
    for (name, page) in try LivePages().all {
      let regions = Self.regions(page)
      let ids = page.source.matches(of: /[ ]id="([^"]*)"/).map { String($0.1) }
      #expect(Set(ids).count == ids.count, "\(name): \(ids)")
      for region in regions {
        let known = try #require(LiveRegion.allCases.first { $0.id == region.id })
        #expect(region.seconds == "\(known.seconds)" && !region.inside.contains("data-live"), "\(name)")
      }
      seen.formUnion(regions.map(\.id))
    }
    #expect(seen == Set(LiveRegion.allCases.map(\.id)))
    #expect(Set(LiveRegion.allCases.map(\.seconds)) == [5, 15])
  }

  /// The script would throw away what somebody has typed or chosen.
  @Test func `no region has a field that a person fills in`() throws {
    for (name, page) in try LivePages().all {
      for region in Self.regions(page) {
        let fields = region.inside.matches(of: /<(select|textarea|input)[^>]*>/).map { String($0.0) }
        #expect(fields.allSatisfy { $0.contains("type=\"hidden\"") }, "\(name): \(fields)")
      }
    }
  }

  @Test func `only a page with regions may run the script`() throws {
    for (name, page) in try LivePages().all {
      let policy = Self.policy(ConsoleAnswer.page(200, page))
      #expect(policy == ConsoleAnswer.policy + "; script-src 'self'; connect-src 'self'", "\(name)")
    }
    let pages = try LivePages(canBeReadAgain: false)
    let others = [
      SignInPage(prefix: "/c").html, Layout.message("x", pages.view, "x", back: pages.view.link([])),
      // A look takes these messages out of their queue for a moment.
      try LivePages().dead("jobs"), try LivePages().dead("deliveries"),
    ]
    for (number, page) in (pages.all.map(\.page) + others).enumerated() {
      #expect(!page.isLive && !page.source.contains("<script") && !page.source.contains("data-live"), "\(number)")
      #expect(Self.policy(ConsoleAnswer.page(200, page)) == ConsoleAnswer.policy, "\(number)")
    }
    for answer in [
      ConsoleAnswer.style(), ConsoleAnswer.script(), ConsoleAnswer.json(200, []), ConsoleAnswer.text(404, "x"),
      ConsoleAnswer.seeOther("/"),
    ] { #expect(Self.policy(answer) == ConsoleAnswer.policy) }
    #expect(ConsoleAnswer.policy.hasPrefix("default-src 'none'; ") && !ConsoleAnswer.policy.contains("script"))
  }

  @Test func `the script is a file that makes no markup of texts`() {
    let answer = ConsoleAnswer.script()
    func header(_ name: String) -> [String] { answer.headers.filter { $0.name == name }.map(\.value) }
    #expect(answer.status == 200 && header("Content-Type") == ["text/javascript; charset=utf-8"])
    #expect(header("X-Content-Type-Options") == ["nosniff"] && header("Cache-Control") == ["max-age=300"])
    for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", ".style"] {
      #expect(!ConsoleScript.source.contains(word), "\(word)")
    }
    #expect(ConsoleScript.source.contains("\"\(HTTPServerRequest.refreshField)\": \"1\""))
  }

  @Test(
    arguments: [
      ("GET", "1", nil, true), ("GET", "0", nil, false), ("GET", nil, nil, false), ("POST", "1", nil, false),
      ("HEAD", "1", nil, false),
      // The browser loads the page again by its header.
      ("GET", nil, "1", true), ("GET", nil, "0", false), ("POST", nil, "1", false),
    ] as [(String, String?, String?, Bool)])
  func `a request says whether no person makes it`(method: String, field: String?, live: String?, isRefresh: Bool) {
    let request = HTTPServerRequest(
      method: method, path: ["fleet"], query: live.map { [(name: "live", value: $0)] } ?? [],
      headers: field.map { [(name: "x-countersign-refresh", value: $0)] } ?? [])
    #expect(request.isRefresh == isRefresh)
  }

  @Test(
    arguments: [
      ("GET", [:], true), ("HEAD", [:], true), ("GET", ["live": "1"], false), ("GET", ["live": "0"], true),
      // The answer to a form has no address of its own.
      ("POST", [:], false),
    ] as [(String, [String: String], Bool)])
  func `a page may be read again if its address gives it`(
    method: String, query: [String: String], canBeReadAgain: Bool
  ) {
    let request = HTTPServerRequest(
      method: method, path: ["fleet"], query: query.map { (name: $0.key, value: $0.value) })
    #expect(request.canBeReadAgain == canBeReadAgain)
  }
}
