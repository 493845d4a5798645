import FoundationEssentials

/// A JSON document as read from a configuration file, before anybody knows what it means.
public enum JSONValue: Sendable, Equatable, Decodable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Decodes whatever stands there.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let flag = try? container.decode(Bool.self) {
      self = .bool(flag)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .string(text)
    } else if let array = try? container.decode([JSONValue].self) {
      self = .array(array)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  /// What stands there, in the words of a mistake.
  var kind: String {
    switch self {
    case .null: "null"
    case .bool(let flag): "\(flag)"
    case .number(let number): number == number.rounded() ? "\(Int64(clamping: number))" : "\(number)"
    case .string(let text): "\"\(text)\""
    case .array: "an array"
    case .object: "an object"
    }
  }

  subscript(path: [String]) -> JSONValue? {
    guard let first = path.first else { return self }
    guard case .object(let members) = self else { return nil }
    return members[first]?[Array(path.dropFirst())]
  }
}

extension Int64 {
  init(clamping number: Double) {
    self = number >= 9.2e18 ? .max : number <= -9.2e18 ? .min : Int64(number)
  }
}
