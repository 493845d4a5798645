import CNGHTTP2

/// Header fields on their way to nghttp2, as the bytes of all names and values. The list is reused for its memory.
package struct HeaderFields {
  private var text: [UInt8] = []
  private var lengths: [(name: Int, value: Int)] = []

  /// Creates an empty list.
  package init() {}

  /// Adds a field.
  package mutating func add(_ name: String, _ value: String) { add(name, value[...]) }

  /// Adds a field. Its name becomes lower case, as HTTP/2 requires (RFC 9113, section 8.2).
  mutating func add(_ name: String, _ value: some StringProtocol) {
    let start = text.count
    text.append(contentsOf: name.utf8)
    let valueStart = text.count
    for position in start..<valueStart where (0x41...0x5a).contains(text[position]) { text[position] |= 0x20 }
    text.append(contentsOf: value.utf8)
    lengths.append((valueStart - start, text.count - valueStart))
  }

  /// Calls `body` with the fields in nghttp2's form, which is valid during the call, and forgets them.
  mutating func take<Value>(_ body: (UnsafePointer<nghttp2_nv>, Int) -> Value) -> Value {
    defer {
      text.removeAll(keepingCapacity: true)
      lengths.removeAll(keepingCapacity: true)
    }
    let lengths = lengths
    // nghttp2 copies the fields during the call, and only reads them.
    return text.withUnsafeMutableBufferPointer { bytes in
      withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lengths.count) { fields in
        var next = bytes.baseAddress!
        for (position, length) in lengths.enumerated() {
          fields.initializeElement(
            at: position,
            to: nghttp2_nv(
              name: next, value: next + length.name, namelen: length.name, valuelen: length.value,
              flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
          next += length.name + length.value
        }
        return body(fields.baseAddress!, lengths.count)
      }
    }
  }
}
