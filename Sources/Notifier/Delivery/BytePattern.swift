/// Finds every place of some bytes in a text, also places that overlap, in one pass (Knuth, Morris and Pratt 1977).
///
/// The time grows with the length of the text, whatever the text is: a stranger may send 64 KB that almost match.
struct BytePattern {
  private let bytes: [UInt8]
  /// For each number of matched bytes: how many of them are matched still if the next byte is another one.
  private let borders: [Int]

  /// - Parameter bytes: what to find; nothing cannot be found, and makes no pattern.
  init?(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return nil }
    self.bytes = bytes
    var borders = [0]
    var matched = 0
    for byte in bytes.dropFirst() {
      while matched > 0, bytes[matched] != byte { matched = borders[matched - 1] }
      if bytes[matched] == byte { matched += 1 }
      borders.append(matched)
    }
    self.borders = borders
  }

  /// The places in a text, in order.
  func places(in text: [UInt8]) -> [Range<Int>] {
    var places: [Range<Int>] = []
    var matched = 0
    for (index, byte) in text.enumerated() {
      if matched == bytes.count { matched = borders[matched - 1] }
      while matched > 0, bytes[matched] != byte { matched = borders[matched - 1] }
      if bytes[matched] == byte { matched += 1 }
      if matched == bytes.count { places.append(index + 1 - matched..<index + 1) }
    }
    return places
  }
}
