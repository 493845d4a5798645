import Domain
import Formats
import JSON

// Apple documents most texts as optional, and writes some of them empty where it has nothing to say, such as
// `"subtype": ""`. So each optional text that is empty is absent, in every payload and every answer of Apple's.
//
// The compiler's own decoders pick these functions over the standard library's, as in DateDecoding.swift.

extension KeyedDecodingContainer {
  /// Decodes an optional text; an empty one is absent.
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try decodeIfPresent(OptionalText.self, forKey: key)?.text
  }

  /// Decodes an optional name of an open set; an empty one is absent.
  func decodeIfPresent<Name: ExactRawValue & Decodable>(_ type: Name.Type, forKey key: Key) throws -> Name? {
    try decodeIfPresent(OptionalText.self, forKey: key)?.text.flatMap(Name.init(rawValue:))
  }

  /// Decodes an optional id; an empty one is absent.
  func decodeIfPresent<Id: Identifier>(_ type: Id.Type, forKey key: Key) throws -> Id? {
    try decodeIfPresent(OptionalText.self, forKey: key)?.text.map(Id.init(_:))
  }
}

extension JSONObject {
  /// Returns an optional text by the same rule, for ``TransactionPayload``, which reads its members itself.
  func text(_ key: StaticString) throws -> String? {
    try string(key).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns an optional id by the same rule.
  func id<Id: Identifier>(_ key: StaticString) throws -> Id? { try text(key).map(Id.init(_:)) }
}

/// A text; `nil` for an empty one.
private struct OptionalText: Decodable {
  let text: String?

  init(from decoder: any Decoder) throws {
    let told = try decoder.singleValueContainer().decode(String.self)
    text = told.isEmpty ? nil : told
  }
}
