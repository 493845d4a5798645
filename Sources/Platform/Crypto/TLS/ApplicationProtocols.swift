/// Returns ALPN names in their form on the wire: each with its length in front (RFC 7301, section 3.1).
func encodedProtocols(_ names: [String]) -> [UInt8] {
  names.flatMap { [UInt8(clamping: $0.utf8.count)] + Array($0.utf8) }
}

/// A server's ALPN names.
final class ProtocolList: Sendable {
  let encoded: [UInt8]

  init(_ names: [String]) {
    encoded = encodedProtocols(names)
  }

  /// Returns the place in `offered` of the first own name that the client offers too.
  func select(from offered: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
    for own in Self.names(in: encoded[...]) {
      for theirs in Self.names(in: offered[...]) where offered[theirs].elementsEqual(encoded[own]) { return theirs }
    }
    return nil
  }

  private static func names<Bytes: RandomAccessCollection>(in bytes: Bytes) -> [Range<Int>]
  where Bytes.Element == UInt8, Bytes.Index == Int {
    var found: [Range<Int>] = []
    var start = bytes.startIndex
    while start < bytes.endIndex {
      let end = start + 1 + Int(bytes[start])
      guard end <= bytes.endIndex else { break }
      found.append(start + 1..<end)
      start = end
    }
    return found
  }
}
