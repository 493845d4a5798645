/// Decodes the members of an object.
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

  /// Returns the node of a key's value.
  private func value(_ key: Key) -> Int? { members.value(key.stringValue) }

  private func decoder(_ key: Key) throws -> JSONValueDecoder {
    guard let value = value(key) else {
      throw DecodingError.keyNotFound(key, DecodingError.Context(codingPath: [], debugDescription: "missing"))
    }
    return JSONValueDecoder(document: document, node: value)
  }

  private func present(_ key: Key) -> JSONValueDecoder? {
    guard let value = value(key), document.nodes[value].kind != .null else { return nil }
    return JSONValueDecoder(document: document, node: value)
  }

  private func at<Value>(_ key: Key, _ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as DecodingError {
      throw error.below(key)
    }
  }

  func contains(_ key: Key) -> Bool { value(key) != nil }
  func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    let decoder = try decoder(key)
    return try at(key) { try decoder.decode(type) }
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    let decoder = try decoder(key)
    return try at(key) { try decoder.decode(type) }
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    let decoder = try decoder(key)
    return try at(key) { try decoder.decode(type) }
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { Float(try decode(Double.self, forKey: key)) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(type, key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(type, key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(type, key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(type, key) }

  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
    let decoder = try decoder(key)
    return try at(key) { try decoder.decode(type) }
  }

  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(type, key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(type, key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(type, key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(type, key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(type, key) }

  private func integer<Integer: FixedWidthInteger>(_ type: Integer.Type, _ key: Key) throws -> Integer {
    let decoder = try decoder(key)
    return try at(key) { try decoder.integer(type) }
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    let decoder = try decoder(key)
    return try at(key) { try Value(from: decoder) }
  }

  // What payloads are made of: the standard library's way to an optional value asks three times for the key.

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    guard let decoder = present(key) else { return nil }
    return try at(key) { try decoder.decode(type) }
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    guard let decoder = present(key) else { return nil }
    return try at(key) { try decoder.decode(type) }
  }

  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    guard let decoder = present(key) else { return nil }
    return try at(key) { try decoder.decode(type) }
  }

  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    guard let decoder = present(key) else { return nil }
    return try at(key) { try decoder.integer(type) }
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    guard let decoder = present(key) else { return nil }
    return try at(key) { try Value(from: decoder) }
  }

  func nestedContainer<Nested>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    let decoder = try decoder(key)
    return try at(key) { try decoder.container(keyedBy: type) }
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    let decoder = try decoder(key)
    return try at(key) { try decoder.unkeyedContainer() }
  }

  func superDecoder() throws -> any Decoder { JSONValueDecoder(document: document, node: node) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}
