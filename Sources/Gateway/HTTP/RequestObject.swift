package import Formats
package import JSON

/// The members of a JSON body, or of an object in it, for a reader that ignores members which it does not know.
///
/// It gives out no text without a limit. So a new member of a request has one, or it does not compile. The limits stand
/// in docs/reference/openapi.yaml, too, and a test compares the two.
package struct RequestObject: ~Copyable {
  private let object: JSONObject
  private let place: String

  /// Takes the object of a body.
  ///
  /// - Throws: `DecodingError` when the body is another kind of value.
  package init(_ text: JSONText) throws { self.init(try JSONObject(text), at: "") }

  private init(_ object: consuming JSONObject, at place: String) {
    self.object = object
    self.place = place
  }

  // Each function throws `DecodingError` with the path of a member that is another kind of value.

  /// A text; `nil` when there is no such member, or when it is null.
  ///
  /// - Throws: ``TextTooLong`` besides.
  package func text(_ name: StaticString, _ limit: TextLimit) throws -> String? {
    guard let text = try object.string(name) else { return nil }
    return try admitted(text, name, limit)
  }

  /// A text that must be present.
  ///
  /// - Throws: ``TextTooLong`` besides.
  package func requiredText(_ name: StaticString, _ limit: TextLimit) throws -> String {
    try admitted(try object.requiredString(name), name, limit)
  }

  /// The texts of an object of texts; none when there is no such member, or when it is null.
  ///
  /// - Throws: ``TextTooLong`` besides.
  package func texts(_ name: StaticString, _ limit: TextLimit) throws -> [ExactText: String] {
    let texts = try object.value(name, as: [ExactText: String].self) ?? [:]
    for text in texts.values { _ = try admitted(text, name, limit) }
    return texts
  }

  /// A whole number of 64 bits.
  package func int64(_ name: StaticString) throws -> Int64? { try object.int64(name) }

  /// A whole number of 32 bits.
  package func int32(_ name: StaticString) throws -> Int32? { try object.int32(name) }

  /// Whether there is a member that is `null`.
  package func isNull(_ name: StaticString) -> Bool { object.isNull(name) }

  /// An object that must be present.
  package func requiredObject(_ name: StaticString) throws -> RequestObject {
    RequestObject(try object.requiredObject(name), at: "\(place)\(name).")
  }

  private func admitted(_ text: String, _ name: StaticString, _ limit: TextLimit) throws -> String {
    guard limit.admits(text) else { throw TextTooLong(path: "\(place)\(name)", limit: limit) }
    return text
  }
}

/// A text of a request that is longer than its reader takes.
package struct TextTooLong: Error, Equatable {
  /// The path of the member, with dots.
  package let path: String
  package let limit: TextLimit
}

extension TextLimit {
  /// The id of an offer or of a product, a code, or another name of one thing.
  package static let name = characters(256)
  /// A text whose own rule is stricter, such as that of a customer's id: the rule's sentence tells more.
  package static let ruled = characters(2048)
  /// A receipt in base64.
  package static let receipt = bytes(2_800_296)
  /// A transaction as a JWS.
  package static let signedTransaction = bytes(2 << 20)
}
