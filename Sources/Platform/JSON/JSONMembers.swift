import Glibc

/// The places of an object's members, by their keys.
///
/// A payload has two dozen members, and its reader asks for three dozen keys, most of which it does not have. A table
/// by a few bits of each key answers nearly all of that without a comparison and without an allocation.
struct JSONMembers {
  private let document: JSONDocument
  private let object: Int
  /// The only key node of each hash, or ``nothing``, or ``several``.
  private var table = InlineArray<64, Int>(repeating: nothing)
  /// The key nodes by their keys, for an object so large that a search would take too long. A sender can make one.
  private var index: [[UInt8]: Int]?

  /// The first node of a document is never a key, so 0 can stand for nothing.
  private static let nothing = 0
  private static let several = -1
  private static let most = 64

  init(of object: Int, in document: JSONDocument) {
    (self.document, self.object) = (document, object)
    var (count, next) = (0, object + 1)
    while next < document.nodes[object].next {
      let hash = document.hash(ofKey: next)
      table[hash] = table[hash] == Self.nothing ? next : Self.several
      next = document.nodes[next + 1].next
      count += 1
      guard count <= Self.most else {
        index = Self.index(of: object, in: document)
        return
      }
    }
  }

  /// The keys are bytes, because equal texts can have different bytes.
  private static func index(of object: Int, in document: JSONDocument) -> [[UInt8]: Int] {
    var index: [[UInt8]: Int] = [:]
    var next = object + 1
    while next < document.nodes[object].next {
      index[Array(document.string(at: next).utf8)] = next
      next = document.nodes[next + 1].next
    }
    return index
  }

  /// Returns the node of a key's value.
  func value(_ key: String) -> Int? {
    var key = key
    return key.withUTF8(value)
  }

  /// Returns the node of a key's value; the key is UTF-8.
  func value(_ key: UnsafeBufferPointer<UInt8>) -> Int? {
    if let index { return index[Array(key)].map { $0 + 1 } }
    return switch table[JSONDocument.hash(of: key)] {
    case Self.nothing: nil
    case Self.several: document.key(key, of: object).map { $0 + 1 }
    case let only: document.string(at: only, equals: key) ? only + 1 : nil
    }
  }
}

extension JSONDocument {
  /// Returns the key node of an object with a text.
  fileprivate func key(_ text: UnsafeBufferPointer<UInt8>, of object: Int) -> Int? {
    var index = object + 1
    while index < nodes[object].next {
      if string(at: index, equals: text) { return index }
      index = nodes[index + 1].next
    }
    return nil
  }

  /// Returns whether a string node has this text, given in UTF-8.
  fileprivate func string(at index: Int, equals text: UnsafeBufferPointer<UInt8>) -> Bool {
    let node = nodes[index]
    if node.kind == .escapedString { return string(at: index).utf8.elementsEqual(text) }
    guard node.end - node.start == text.count else { return false }
    return bytes.withUnsafeBufferPointer { bytes in
      text.isEmpty || memcmp(bytes.baseAddress! + node.start, text.baseAddress!, text.count) == 0
    }
  }

  /// Returns the hash of a key node's text.
  func hash(ofKey index: Int) -> Int {
    let node = nodes[index]
    guard node.kind == .escapedString else {
      return bytes.withUnsafeBufferPointer { Self.hash(of: UnsafeBufferPointer(rebasing: $0[node.start..<node.end])) }
    }
    var text = string(at: index)
    return text.withUTF8(Self.hash)
  }

  /// Returns six bits of a text's length and of its first and last bytes.
  fileprivate static func hash(of text: UnsafeBufferPointer<UInt8>) -> Int {
    guard let first = text.first, let last = text.last else { return 0 }
    return (text.count &* 7 &+ Int(first) &* 31 &+ Int(last) &* 13) & 63
  }
}
