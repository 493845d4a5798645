import Formats
import JSON

extension JSONValue {
  /// What stands there, in the words of a mistake.
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

  subscript(path: [String]) -> JSONValue? {
    guard let first = path.first else { return self }
    guard case .object(let members) = self else { return nil }
    return members[first.exact]?[Array(path.dropFirst())]
  }
}
