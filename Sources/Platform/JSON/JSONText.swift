public import Formats

/// A JSON text (RFC 8259). It is read once, and any code can decode it afterwards.
///
/// It accepts exactly the RFC's JSON: UTF-8 without a byte order mark, no lone surrogates, no number beyond a `Double`,
/// no more than the reader's ``JSONLimits``. It also refuses an object with the same member twice (RFC 7493, section
/// 2.3). Readers disagree on which of the two counts, so signed data could say one thing here and another elsewhere.
public struct JSONText: Sendable {
  let document: JSONDocument

  /// Reads a text.
  ///
  /// - Parameter limits: how much of it; a stranger's, if nobody says so.
  /// - Throws: ``JSONSyntaxError`` with the offset of the mistake.
  public init(_ bytes: [UInt8], limits: JSONLimits = .outside) throws(JSONSyntaxError) {
    document = try JSONDocument(bytes, limits)
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
      keys.append(ExactText(document.string(at: index)))
      index = document.nodes[index + 1].next
    }
    return keys
  }
}

/// A text that is not JSON, or that has more than its reader takes.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The offset of the mistake, in bytes from the start.
  public let offset: Int
  /// The member that occurs in its object a second time at the offset; `nil` if the text is not JSON.
  public let repeatedMember: String?
  /// The limit that the text exceeds at the offset; `nil` if it is not JSON, or has a member twice.
  public let excess: JSONLimits.Excess?

  init(offset: Int, repeatedMember: String? = nil, excess: JSONLimits.Excess? = nil) {
    self.offset = offset
    self.repeatedMember = repeatedMember
    self.excess = excess
  }

  public var description: String {
    if let excess { return "too much JSON: \(excess), at byte \(offset)" }
    return repeatedMember == nil
      ? "not JSON at byte \(offset)" : "a member appears twice in one object, again at byte \(offset)"
  }
}
