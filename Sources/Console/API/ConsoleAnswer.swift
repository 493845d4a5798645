import HTTPServer

/// The answers of the console. Each has the headers that let a browser do nothing but show the page.
enum ConsoleAnswer {
  /// No script at all, the one style sheet, forms to the console only, and no frame around a page.
  static let policy =
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

  private static let headers: [(name: String, value: String)] = [
    ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
    // With `no-referrer`, a browser would send `Origin: null` with a form.
    ("Referrer-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"), ("Cache-Control", "no-store"),
  ]

  static func page(
    _ status: Int, _ html: String, _ more: [(name: String, value: String)] = []
  ) -> HTTPServerResponse {
    answer(status, "text/html; charset=utf-8", Array(html.utf8), more)
  }

  static func json(
    _ status: Int, _ json: [UInt8], _ more: [(name: String, value: String)] = []
  ) -> HTTPServerResponse {
    answer(status, "application/json", json, more)
  }

  static func text(
    _ status: Int, _ text: String, _ more: [(name: String, value: String)] = []
  ) -> HTTPServerResponse {
    answer(status, "text/plain; charset=utf-8", Array((text + "\n").utf8), more)
  }

  static func style() -> HTTPServerResponse {
    var response = answer(200, "text/css; charset=utf-8", Array(ConsoleStyle.css.utf8))
    response.headers.removeAll { $0.name == "Cache-Control" }
    response.headers.append(("Cache-Control", "max-age=300"))
    return response
  }

  /// Sends the browser to another page of the console, or to the provider.
  static func seeOther(_ address: String, cookies: [String] = []) -> HTTPServerResponse {
    HTTPServerResponse(status: 303, headers: headers + [("Location", address)] + cookies.map { ("Set-Cookie", $0) })
  }

  private static func answer(
    _ status: Int, _ type: String, _ body: [UInt8], _ more: [(name: String, value: String)] = []
  ) -> HTTPServerResponse {
    HTTPServerResponse(status: status, headers: headers + [("Content-Type", type)] + more, body: body)
  }
}
