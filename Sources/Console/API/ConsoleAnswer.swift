import HTTPServer

/// The answers of the console. Each has the headers that let a browser do nothing but show the page.
enum ConsoleAnswer {
  /// No script at all, the one style sheet, forms to the console only, and no frame around a page.
  static let policy =
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
  /// That of a page with live regions: the one script besides, which reads pages of the console only.
  static let livePolicy = policy + "; script-src 'self'; connect-src 'self'"

  private static let headers: [(name: String, value: String)] = [
    ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
    // With `no-referrer`, a browser would send `Origin: null` with a form.
    ("Referrer-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"), ("Cache-Control", "no-store"),
  ]

  static func page(
    _ status: Int, _ page: Document, _ more: [(name: String, value: String)] = []
  ) -> HTTPServerResponse {
    answer(
      status, "text/html; charset=utf-8", Array(page.source.utf8), more, policy: page.isLive ? livePolicy : policy)
  }

  static func json(
    _ status: Int, _ json: [UInt8], _ more: [(name: String, value: String)] = []
  ) -> HTTPServerResponse {
    answer(status, "application/json", inert(json), more)
  }

  /// The same JSON without `<` and `>`: they stand in texts only, which have another form for them. So whoever takes
  /// the answer for a page finds no element in it.
  static func inert(_ json: [UInt8]) -> [UInt8] {
    let (less, greater) = (UInt8(ascii: "<"), UInt8(ascii: ">"))
    guard json.contains(where: { $0 == less || $0 == greater }) else { return json }
    var text: [UInt8] = []
    text.reserveCapacity(json.count + 64)
    for byte in json {
      switch byte {
      case less: text += #"\u003c"#.utf8
      case greater: text += #"\u003e"#.utf8
      default: text.append(byte)
      }
    }
    return text
  }

  static func text(
    _ status: Int, _ text: String, _ more: [(name: String, value: String)] = []
  ) -> HTTPServerResponse {
    answer(status, "text/plain; charset=utf-8", Array((text + "\n").utf8), more)
  }

  static func style() -> HTTPServerResponse { file("text/css; charset=utf-8", ConsoleStyle.css) }

  static func script() -> HTTPServerResponse { file("text/javascript; charset=utf-8", ConsoleScript.source) }

  /// A file of the executable. A browser may keep it for five minutes.
  private static func file(_ type: String, _ text: String) -> HTTPServerResponse {
    var response = answer(200, type, Array(text.utf8))
    response.headers.removeAll { $0.name == "Cache-Control" }
    response.headers.append(("Cache-Control", "max-age=300"))
    return response
  }

  /// Sends the browser to another page of the console, or to the provider.
  static func seeOther(_ address: String, cookies: [String] = []) -> HTTPServerResponse {
    HTTPServerResponse(
      status: 303,
      headers: headers + [("Content-Security-Policy", policy), ("Location", address)]
        + cookies.map { ("Set-Cookie", $0) })
  }

  private static func answer(
    _ status: Int, _ type: String, _ body: [UInt8], _ more: [(name: String, value: String)] = [],
    policy: String = ConsoleAnswer.policy
  ) -> HTTPServerResponse {
    HTTPServerResponse(
      status: status, headers: headers + [("Content-Security-Policy", policy), ("Content-Type", type)] + more,
      body: body)
  }
}
