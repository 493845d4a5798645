import Formats

@testable import Console

extension ConsoleView {
  /// Says that an action was not done, with the fields as a browser posts them.
  mutating func refuse(
    _ action: ConsoleRoute.Action, _ fields: [(name: String, value: String)], _ words: String = "why"
  ) {
    let body = fields.map { "\($0.name)=\(PercentCoding.encoded($0.value))" }.joined(separator: "&")
    refused = RefusedAction(action: action, words: words, form: FormBody(Array(body.utf8)))
  }
}
