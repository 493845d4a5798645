public import Formats

/// A JSON text (RFC 8259). It is read once, and any code can decode it afterwards.
///
/// It accepts exactly the RFC's JSON: UTF-8 without a byte order mark, no lone surrogates, no number beyond a `Double`,
/// no more than 128 levels. It also refuses an object with the same member twice (RFC 7493, section 2.3). Readers
/// disagree on which of the two counts, so signed data could say one thing here and another thing elsewhere.
public struct JSONText: Sendable {
  let document: JSONDocument

  /// Reads a text.
  ///
  /// - Throws: ``JSONSyntaxError`` with the offset of the mistake.
  public init(_ bytes: [UInt8]) throws(JSONSyntaxError) {
    document = try JSONDocument(bytes)
  }

  /// Decodes the value as a type. Numbers must fit exactly: `1.0` is an integer, and `1.5` and `1e30` are not.
  ///
  /// - Throws: `DecodingError` with the path of the value that does not fit.
  public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
    try Value(from: JSONValueDecoder(document: document, node: 0))
  }

  /// The keys of the object, or `nil` if the text is another kind of value.
  public var keys: [ExactText]? {
    guard document.nodes[0].kind == .object else { return nil }
    var keys: [ExactText] = []
    var index = 1
    while index < document.nodes[0].next {
      keys.append(document.string(at: index).exact)
      index = document.nodes[index + 1].next
    }
    return keys
  }
}

/// A text that is not JSON.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The offset of the mistake, in bytes from the start.
  public let offset: Int
  /// The member that occurs in its object a second time at the offset; `nil` if the text is not JSON.
  public let repeatedMember: String?

  init(offset: Int, repeatedMember: String? = nil) {
    self.offset = offset
    self.repeatedMember = repeatedMember
  }

  public var description: String {
    repeatedMember == nil
      ? "not JSON at byte \(offset)" : "a member stands twice in one object, again at byte \(offset)"
  }
}
