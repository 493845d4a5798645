import Formats
import Glibc

extension JSONDocument {
  /// The most members that the check compares with each other. It puts the keys of a larger object into a set.
  ///
  /// A sender can make an object so large that comparing each key with each takes too long.
  private static let mostCompared = 64
  /// The most keys of an object that the check compares with all before them. A sender can choose keys with one hash.
  private static let mostSearched = 8

  /// Refuses an object that has a member twice, at any depth. Keys that differ only by escapes are the same.
  ///
  /// Its time grows with the text, whatever the keys are.
  func refuseRepeatedMembers() throws(JSONSyntaxError) {
    for object in nodes.indices where nodes[object].kind == .object {
      guard let key = repeatedKey(of: object) else { continue }
      throw JSONSyntaxError(offset: nodes[key].start, repeatedMember: string(at: key))
    }
  }

  /// Returns the second of two key nodes with the same text.
  private func repeatedKey(of object: Int) -> Int? {
    let end = nodes[object].next
    // Each hash of a key sets one bit. So most keys need no comparison.
    var hashes: UInt64 = 0
    var (count, searched, key) = (0, 0, object + 1)
    while key < end {
      guard nodes[key].kind == .string, count < Self.mostCompared, searched < Self.mostSearched else {
        return repeatedKeyBySet(of: object)
      }
      let bit: UInt64 = 1 << hash(ofKey: key)
      if hashes & bit != 0 {
        if isRepeated(key, of: object) { return key }
        searched += 1
      }
      hashes |= bit
      count += 1
      key = nodes[key + 1].next
    }
    return nil
  }

  /// Whether a key node without escapes has the text of an earlier one of its object.
  private func isRepeated(_ key: Int, of object: Int) -> Bool {
    let (start, length) = (nodes[key].start, nodes[key].end - nodes[key].start)
    var other = object + 1
    while other < key {
      let node = nodes[other]
      if node.end - node.start == length, length == 0 || haveSameBytes(start, node.start, length) { return true }
      other = nodes[other + 1].next
    }
    return false
  }

  private func haveSameBytes(_ one: Int, _ other: Int, _ count: Int) -> Bool {
    bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map { memcmp($0 + one, $0 + other, count) == 0 } ?? true
    }
  }

  private func repeatedKeyBySet(of object: Int) -> Int? {
    var texts: Set<ExactText> = []
    var key = object + 1
    while key < nodes[object].next {
      guard texts.insert(ExactText(string(at: key))).inserted else { return key }
      key = nodes[key + 1].next
    }
    return nil
  }
}
