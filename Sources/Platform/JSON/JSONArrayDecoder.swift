/// Decodes the elements of an array, one after the other.
struct JSONArrayDecoder: UnkeyedDecodingContainer {
  private struct Index: CodingKey {
    let intValue: Int?
    var stringValue: String { "\(intValue ?? 0)" }
    init(intValue: Int) { self.intValue = intValue }
    init?(stringValue: String) { nil }
  }

  private let document: JSONDocument
  private let end: Int
  private var next: Int
  private(set) var currentIndex = 0

  init(document: JSONDocument, node: Int) {
    self.document = document
    next = node + 1
    end = document.nodes[node].next
  }

  var codingPath: [any CodingKey] { [] }
  var count: Int? {
    var (count, index) = (currentIndex, next)
    while index < end {
      index = document.nodes[index].next
      count += 1
    }
    return count
  }
  var isAtEnd: Bool { next >= end }

  private mutating func take<Value>(_ body: (JSONValueDecoder) throws -> Value) throws -> Value {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        Value.self, DecodingError.Context(codingPath: [], debugDescription: "the array has no more elements"))
    }
    do {
      let value = try body(JSONValueDecoder(document: document, node: next))
      next = document.nodes[next].next
      currentIndex += 1
      return value
    } catch let error as DecodingError {
      throw error.below(Index(intValue: currentIndex))
    }
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, document.nodes[next].kind == .null else { return false }
    next += 1
    currentIndex += 1
    return true
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try take { try $0.decode(type) } }
  mutating func decode(_ type: String.Type) throws -> String { try take { try $0.decode(type) } }
  mutating func decode(_ type: Double.Type) throws -> Double { try take { try $0.decode(type) } }
  mutating func decode(_ type: Float.Type) throws -> Float { try take { try $0.decode(type) } }
  mutating func decode(_ type: Int.Type) throws -> Int { try take { try $0.decode(type) } }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try take { try $0.decode(type) } }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try take { try $0.decode(type) } }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try take { try $0.decode(type) } }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try take { try $0.decode(type) } }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try take { try $0.decode(type) } }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try take { try $0.decode(type) } }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try take { try $0.decode(type) } }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try take { try $0.decode(type) } }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try take { try $0.decode(type) } }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try take { try Value(from: $0) }
  }

  mutating func nestedContainer<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try take { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try take { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try take { $0 } }
}
