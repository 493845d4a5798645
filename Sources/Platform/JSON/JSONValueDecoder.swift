/// Decodes one value of a document, with everything below it.
struct JSONValueDecoder: Decoder, SingleValueDecodingContainer {
  let document: JSONDocument
  let node: Int
  /// The path is always empty. The code that passes a value on puts its own key in front of the path of an error. So a
  /// path costs nothing until an error occurs.
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  private var kind: JSONDocument.Node.Kind { document.nodes[node].kind }

  func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard kind == .object else { throw mismatch([String: Any].self) }
    return KeyedDecodingContainer(JSONObjectDecoder<Key>(document: document, node: node))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard kind == .array else { throw mismatch([Any].self) }
    return JSONArrayDecoder(document: document, node: node)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { kind == .null }

  func decode(_ type: Bool.Type) throws -> Bool {
    guard kind == .yes || kind == .no else { throw mismatch(type) }
    return kind == .yes
  }

  func decode(_ type: String.Type) throws -> String {
    guard kind == .string || kind == .escapedString else { throw mismatch(type) }
    return document.string(at: node)
  }

  func decode(_ type: Double.Type) throws -> Double {
    guard let value = document.double(at: node) else { throw mismatch(type) }
    return value
  }

  func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
  func decode(_ type: Int.Type) throws -> Int { try integer(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }

  func decode(_ type: Int64.Type) throws -> Int64 {
    guard let value = document.integer(at: node) else { throw mismatch(type) }
    return value
  }

  func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }

  func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
    guard let value = document.integer(at: node).flatMap(Integer.init(exactly:)) else { throw mismatch(type) }
    return value
  }

  func mismatch(_ type: Any.Type) -> DecodingError {
    .typeMismatch(type, DecodingError.Context(codingPath: [], debugDescription: "another value than \(type)"))
  }
}

extension DecodingError {
  /// The same error, with the key of the enclosing value in front of its path.
  func below(_ key: any CodingKey) -> DecodingError {
    func longer(_ context: Context) -> Context {
      Context(codingPath: [key] + context.codingPath, debugDescription: context.debugDescription)
    }
    return switch self {
    case .typeMismatch(let type, let context): .typeMismatch(type, longer(context))
    case .valueNotFound(let type, let context): .valueNotFound(type, longer(context))
    case .keyNotFound(let missing, let context): .keyNotFound(missing, longer(context))
    case .dataCorrupted(let context): .dataCorrupted(longer(context))
    @unknown default: self
    }
  }
}
