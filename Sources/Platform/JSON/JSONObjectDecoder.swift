/// Decodes the members of an object.
///
/// It is a class, since a value would copy its table for each member.
final class JSONObjectDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let document: JSONDocument
  private let node: Int
  private let members: JSONMembers

  init(document: JSONDocument, node: Int) {
    self.document = document
    self.node = node
    members = JSONMembers(of: node, in: document)
  }

  var codingPath: [any CodingKey] { [] }

  var allKeys: [Key] {
    var keys: [Key] = []
    var index = node + 1
    while index < document.nodes[node].next {
      if let key = Key(stringValue: document.string(at: index)) { keys.append(key) }
      index = document.nodes[index + 1].next
    }
    return keys
  }

  private func decoder(_ key: Key) throws -> JSONValueDecoder {
    guard let value = members.value(key.stringValue) else {
      throw DecodingError.keyNotFound(key, DecodingError.Context(codingPath: [], debugDescription: "missing"))
    }
    return JSONValueDecoder(document: document, node: value)
  }

  private func take<Value>(_ key: Key, _ body: (JSONValueDecoder) throws -> Value) throws -> Value {
    let decoder = try decoder(key)
    do {
      return try body(decoder)
    } catch let error as DecodingError {
      throw error.below(key)
    }
  }

  private func takeIfPresent<Value>(_ key: Key, _ body: (JSONValueDecoder) throws -> Value) throws -> Value? {
    guard let value = members.value(key.stringValue), document.nodes[value].kind != .null else { return nil }
    do {
      return try body(JSONValueDecoder(document: document, node: value))
    } catch let error as DecodingError {
      throw error.below(key)
    }
  }

  func contains(_ key: Key) -> Bool { members.value(key.stringValue) != nil }
  func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try take(key) { try $0.decode(type) } }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try take(key) { try $0.decode(type) } }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try take(key) { try $0.decode(type) } }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { Float(try decode(Double.self, forKey: key)) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try take(key) { try $0.integer(type) } }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try take(key) { try $0.integer(type) } }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try take(key) { try $0.integer(type) } }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try take(key) { try $0.integer(type) } }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try take(key) { try $0.decode(type) } }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try take(key) { try $0.integer(type) } }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try take(key) { try $0.integer(type) } }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try take(key) { try $0.integer(type) } }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try take(key) { try $0.integer(type) } }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try take(key) { try $0.integer(type) } }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try take(key) { try Value(from: $0) }
  }

  // The standard library's way to an optional value asks for the key three times.

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try takeIfPresent(key) { try $0.decode(type) }
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try takeIfPresent(key) { try $0.decode(type) }
  }

  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    try takeIfPresent(key) { try $0.decode(type) }
  }

  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    try takeIfPresent(key) { try $0.integer(type) }
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    try takeIfPresent(key) { try Value(from: $0) }
  }

  func nestedContainer<Nested>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try take(key) { try $0.container(keyedBy: type) }
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try take(key) { try $0.unkeyedContainer() }
  }

  func superDecoder() throws -> any Decoder { JSONValueDecoder(document: document, node: node) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}
