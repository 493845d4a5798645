import JSON

/// How a value may stand in the file, and how in an environment variable, which has nothing but text.
struct Form<Value> {
  /// What a mistake says was expected.
  let expected: String
  /// Whether what stands there may be a secret; no mistake shows it.
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

  /// A number; in the file a text that spells one is a mistake.
  init(number expected: String, _ convert: @escaping (Double) -> Value?) {
    self.init(expected: expected) {
      $0.number.flatMap(convert)
    } text: {
      Double($0).flatMap(convert)
    }
  }
}
