/// The members of a JSON object. A reader asks for them one by one.
///
/// It is for types that code reads so often that the cost of `Codable` counts. It accepts the same values.
public struct JSONObject: ~Copyable {
  private let document: JSONDocument
  private let members: JSONMembers
  /// The keys that lead to the object; none of the text's own.
  private let path: [String]

  /// Takes the object of a text.
  ///
  /// - Throws: `DecodingError` when the text is another kind of value.
  public init(_ text: JSONText) throws {
    document = text.document
    guard document.nodes[0].kind == .object else {
      throw JSONValueDecoder(document: document, node: 0).mismatch([String: Any].self)
    }
    members = JSONMembers(of: 0, in: document)
    path = []
  }

  /// Takes a member that is an object and must be present.
  ///
  /// - Throws: `DecodingError` with the path of the member, also when there is no such member, or when it is null. All
  ///   functions of the object throw it with the path of their member.
  public func requiredObject(_ key: StaticString) throws -> JSONObject {
    guard let node = node(of: key) else { throw missing(key) }
    guard document.nodes[node].kind == .object else {
      throw located(JSONValueDecoder(document: document, node: node).mismatch([String: Any].self), key)
    }
    return JSONObject(document: document, node: node, path: path + ["\(key)"])
  }

  private init(document: JSONDocument, node: Int, path: [String]) {
    self.document = document
    self.path = path
    members = JSONMembers(of: node, in: document)
  }

  /// Returns a text; `nil` when there is no such member, or when it is null.
  ///
  /// - Throws: `DecodingError` with the key as its path when the member is another kind of value. So do all functions
  ///   below.
  public func string(_ key: StaticString) throws -> String? { try take(key) { try $0.decode(String.self) } }

  /// Returns a text that must be present.
  ///
  /// - Throws: `DecodingError`, also when there is no such member, or when it is null.
  public func requiredString(_ key: StaticString) throws -> String { try require(key) { try $0.decode(String.self) } }

  /// Returns a number that must be present. 64 bits with a sign hold it exactly.
  ///
  /// - Throws: `DecodingError`, also when there is no such member, or when it is null.
  public func requiredInt64(_ key: StaticString) throws -> Int64 { try require(key) { try $0.decode(Int64.self) } }

  /// Returns a truth value.
  public func bool(_ key: StaticString) throws -> Bool? { try take(key) { try $0.decode(Bool.self) } }

  /// Returns a number that 64 bits with a sign hold exactly.
  public func int64(_ key: StaticString) throws -> Int64? { try take(key) { try $0.decode(Int64.self) } }

  /// Returns a number that 32 bits with a sign hold exactly.
  public func int32(_ key: StaticString) throws -> Int32? { try take(key) { try $0.integer(Int32.self) } }

  /// Returns a number without its fraction. The rest must fit into 64 bits with a sign.
  public func truncated(_ key: StaticString) throws -> Int64? {
    try take(key) {
      if let whole = document.integer(at: $0.node) { return whole }
      guard let whole = document.double(at: $0.node).flatMap({ Int64(exactly: $0.rounded(.towardZero)) }) else {
        throw $0.mismatch(Int64.self)
      }
      return whole
    }
  }

  /// Whether the object has a member that is `null`.
  public func isNull(_ key: StaticString) -> Bool { node(of: key).map { document.nodes[$0].kind == .null } ?? false }

  /// Returns the bytes of a member that is an object, as the text has them; `nil` for any other member.
  public func objectText(_ key: StaticString) -> [UInt8]? {
    guard let node = node(of: key), document.nodes[node].kind == .object else { return nil }
    return Array(document.bytes[document.nodes[node].start..<document.nodes[node].end])
  }

  /// Returns a value of any type.
  public func value<Value: Decodable>(_ key: StaticString, as type: Value.Type = Value.self) throws -> Value? {
    try take(key) { try Value(from: $0) }
  }

  private func take<Value>(_ key: StaticString, _ body: (JSONValueDecoder) throws -> Value) throws -> Value? {
    guard let node = node(of: key), document.nodes[node].kind != .null else { return nil }
    return try read(node, key, body)
  }

  private func require<Value>(_ key: StaticString, _ body: (JSONValueDecoder) throws -> Value) throws -> Value {
    guard let node = node(of: key) else { throw missing(key) }
    return try read(node, key, body)
  }

  private func missing(_ key: StaticString) -> DecodingError {
    .keyNotFound(Member(stringValue: "\(key)"), DecodingError.Context(codingPath: [], debugDescription: "missing"))
  }

  /// The error with the whole path of a member.
  private func located(_ error: DecodingError, _ key: StaticString) -> DecodingError {
    path.reversed().reduce(error.below(Member(stringValue: "\(key)"))) { $0.below(Member(stringValue: $1)) }
  }

  private func node(of key: StaticString) -> Int? {
    members.value(UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
  }

  private func read<Value>(
    _ node: Int, _ key: StaticString, _ body: (JSONValueDecoder) throws -> Value
  ) throws -> Value {
    do {
      return try body(JSONValueDecoder(document: document, node: node))
    } catch let error as DecodingError {
      throw located(error, key)
    }
  }

  /// A member's place in the path of an error.
  private struct Member: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
  }
}
