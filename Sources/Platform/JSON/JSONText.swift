/// A JSON text (RFC 8259) that was read once and can be decoded from then on.
///
/// It takes what the RFC calls JSON and nothing else: UTF-8 without a byte order mark, no lone surrogates, no number
/// beyond a `Double`, no more than 128 levels. Of two equal keys in one object the first one counts.
public struct JSONText: Sendable {
  let document: JSONDocument

  /// Reads a text.
  ///
  /// - Throws: ``JSONSyntaxError`` with the offset of what is wrong.
  public init(_ bytes: [UInt8]) throws(JSONSyntaxError) {
    document = try JSONDocument(bytes)
  }

  /// Decodes the value as a type. Numbers must fit exactly: `1.0` is an integer, `1.5` and `1e30` are none.
  ///
  /// - Throws: `DecodingError` with the path of the value that does not fit.
  public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
    try Value(from: JSONValueDecoder(document: document, node: 0))
  }

  /// The keys of the object that this text is, or `nil` when it is another kind of value.
  public var keys: [String]? {
    guard document.nodes[0].kind == .object else { return nil }
    var keys: [String] = []
    var index = 1
    while index < document.nodes[0].next {
      keys.append(document.string(at: index))
      index = document.nodes[index + 1].next
    }
    return keys
  }
}

/// A text that is not JSON.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Where the mistake is, in bytes from the start.
  public let offset: Int

  public var description: String { "not JSON at byte \(offset)" }
}
