import HTTPServer

/// Who reads a page, and in which form.
struct ConsoleReader: Sendable {
  let view: ConsoleView
  let isJSON: Bool
  /// Where a message leads back to: the page that has the form, if the request is an action.
  var back: Link

  /// Creates the reader of a page or of an action.
  ///
  /// - Parameter page: the segments of the page that an action belongs to; the start for a page.
  init(view: ConsoleView, isJSON: Bool = false, page: [String] = []) {
    (self.view, self.isJSON, back) = (view, isJSON, view.link(page))
  }

  /// A page, in the form that the reader wants.
  func answer(_ status: Int = 200, html: @autoclosure () -> Document, json: @autoclosure () -> [UInt8])
    -> HTTPServerResponse
  {
    isJSON ? ConsoleAnswer.json(status, json()) : ConsoleAnswer.page(status, html())
  }

  /// One message, with the way back to the page that it is about.
  func message(_ status: Int, _ title: String, _ text: String) -> HTTPServerResponse {
    isJSON
      ? ConsoleAnswer.text(status, text) : ConsoleAnswer.page(status, Layout.message(title, view, text, back: back))
  }

  /// The answer to a refusal where no page says it.
  func answer(to refusal: ConsoleRefusal) -> HTTPServerResponse {
    switch refusal {
    case .answered(let answer): answer
    case .notDone(let status, let words): message(status, "Not done", words)
    }
  }

  /// The same reader, whose messages lead to another page.
  func back(to page: Link) -> ConsoleReader {
    var reader = self
    reader.back = page
    return reader
  }

  /// The same whether nothing is there, or somebody else's.
  var nothing: HTTPServerResponse {
    message(404, "Nothing is here", "Nothing with this id is here, or it belongs to a publisher that you may not see.")
  }

  /// For an address with a value that has no meaning.
  ///
  /// - Parameter words: what was not understood, and what to do.
  func notUnderstood(_ words: String) -> HTTPServerResponse { message(400, "Not understood", words) }

  /// For an address that chooses a state which there is not.
  var noSuchState: HTTPServerResponse { notUnderstood("There is no such state. Choose one, and press Show.") }

  /// While as many long looks run as may.
  var busy: HTTPServerResponse {
    message(503, "Busy", "Many people are reading long lists now. Load the page again in a moment.")
  }

  /// For somebody who sees no personal data.
  var notForViewers: HTTPServerResponse {
    message(403, "Not for viewers", "A viewer sees no personal data. Ask somebody with the role support.")
  }
}
