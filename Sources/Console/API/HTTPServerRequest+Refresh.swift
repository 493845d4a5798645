import HTTPServer

/// What a page has to do with the console's script (``ConsoleScript``).
extension HTTPServerRequest {
  /// The header field of the script's requests.
  static let refreshField = "X-Countersign-Refresh"

  /// Whether the script reads a page again, or the browser loads it again, and no person does. That is no use of the
  /// session.
  var isRefresh: Bool { method == "GET" && (header(Self.refreshField) == "1" || loadsItselfAgain) }

  /// Whether the script may read the page again. An answer to a form has no address of its own.
  var canBeReadAgain: Bool { method != "POST" && !loadsItselfAgain }

  /// Whether the address is that of a page which the browser loads again and again, without JavaScript.
  private var loadsItselfAgain: Bool { query("live") == "1" }
}
