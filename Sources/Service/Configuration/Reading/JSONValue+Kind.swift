import Formats
import JSON

extension JSONValue {
  /// The kind of the value, in the words of a mistake.
  var kind: String {
    switch self {
    case .null: "null"
    case .bool(let flag): "\(flag)"
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .string(let text): "\"\(text)\""
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// The kind of the value without its content, which may be a secret.
  var shape: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .integer, .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// A text that is not empty.
  var string: String? {
    if case .string(let text) = self, !text.isEmpty { text } else { nil }
  }

  /// A number of any kind.
  var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .number(let number): number
    default: nil
    }
  }

  subscript(path: [String]) -> JSONValue? {
    guard let first = path.first else { return self }
    guard case .object(let members) = self else { return nil }
    return members[first]?[Array(path.dropFirst())]
  }
}
