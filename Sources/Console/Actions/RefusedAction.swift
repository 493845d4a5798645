import HTTPServer

/// What ends a request before its end.
enum ConsoleRefusal: Error {
  /// With an answer that says all.
  case answered(HTTPServerResponse)
  /// An action is not done: the status, and the reason for the person. The page that has the form says it.
  case notDone(Int, String)

  static let malformed = ConsoleRefusal.notDone(400, "The form cannot be read. Fill it in once more.")

  /// While as many long looks run as may.
  static let busy = ConsoleRefusal.notDone(
    503, "Many people are reading long lists now. Send the form again in a moment.")
}

/// An action that was not done, for the page that has its form.
struct RefusedAction: Sendable {
  let action: ConsoleRoute.Action
  /// Why, for the person.
  let words: String
  /// What the person has filled in; `nil` if it cannot be read.
  let form: FormBody?
}

extension ConsoleView {
  /// What the person has filled in, if this action was not done.
  func typed(_ action: ConsoleRoute.Action) -> FormBody? {
    refused.flatMap { $0.action == action ? $0.form : nil }
  }

  /// Whether this action was not done.
  func isRefused(_ action: ConsoleRoute.Action) -> Bool { refused?.action == action }
}
