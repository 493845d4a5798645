import Formats
import JSON

/// The detail of an entry of the audit log in words, such as `environment Production, subscription id 1801`.
enum DetailWords {
  /// Returns the words; the bytes as text if they are no JSON object.
  static func text(_ detail: [UInt8]) -> String {
    let plain = String(decoding: detail, as: UTF8.self)
    guard let value: JSONValue = try? JSONText(detail, limits: .own).decoded(), case .object(let members) = value else {
      return plain
    }
    return words(members)
  }

  private static func words(_ members: [ExactText: JSONValue]) -> String {
    members.sorted { $0.key < $1.key }.map { name, value in
      "\(self.name(name.text)) \(words(value))"
    }.joined(separator: ", ")
  }

  private static func words(_ value: JSONValue) -> String {
    switch value {
    case .null: "none"
    case .bool(let flag): flag ? "yes" : "no"
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .string(let text): text.isEmpty ? "none" : text
    case .array(let values): values.isEmpty ? "none" : values.map(words).joined(separator: " and ")
    case .object(let members): members.isEmpty ? "everything" : "(\(words(members)))"
    }
  }

  /// The name of a member as words: `subscriptionId` is `subscription id`.
  static func name(_ member: String) -> String {
    var words = ""
    for scalar in member.unicodeScalars {
      if ("A"..."Z").contains(scalar) {
        words += " " + String(scalar).lowercased()
      } else {
        words.unicodeScalars.append(scalar)
      }
    }
    return words
  }
}
