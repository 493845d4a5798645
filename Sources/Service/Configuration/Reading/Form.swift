import JSON

/// The form of a value in the file, and in an environment variable, which can only hold text.
struct Form<Value> {
  /// The expected value, in the words of a mistake.
  let expected: String
  /// Whether the value may be a secret. Then no mistake shows it.
  let isSecret: Bool
  let json: (JSONValue) -> Value?
  let text: (String) -> Value?

  init(
    expected: String, isSecret: Bool = false, json: @escaping (JSONValue) -> Value?,
    text: @escaping (String) -> Value?
  ) {
    self.expected = expected
    self.isSecret = isSecret
    self.json = json
    self.text = text
  }

  /// A number. In the file, a text that spells a number is a mistake.
  init(number expected: String, _ convert: @escaping (Double) -> Value?) {
    self.init(expected: expected) {
      $0.number.flatMap(convert)
    } text: {
      Double($0).flatMap(convert)
    }
  }
}
