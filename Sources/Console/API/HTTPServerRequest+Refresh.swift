import HTTPServer

/// What a page has to do with the console's script (``ConsoleScript``).
extension HTTPServerRequest {
  /// The header field of the script's requests.
  static let refreshField = "X-Countersign-Refresh"

  /// Whether the script reads a page again, and no person does. That is no use of the session.
  var isRefresh: Bool { method == "GET" && header(Self.refreshField) == "1" }

  /// Whether the script may read the page again. An answer to a form has no address of its own, and with `live=1`, the
  /// browser loads the whole page again.
  var canBeReadAgain: Bool { method != "POST" && query("live") != "1" }
}
