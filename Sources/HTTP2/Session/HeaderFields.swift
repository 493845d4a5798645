import CNGHTTP2

/// Calls `body` with header fields in nghttp2's form; names must be in lower case (RFC 9113, section 8.2).
func withHeaderFields<Value>(
  _ fields: [(name: String, value: String)], _ body: (UnsafePointer<nghttp2_nv>, Int) -> Value
) -> Value {
  var text: [UInt8] = []
  var lengths: [(name: Int, value: Int)] = []
  lengths.reserveCapacity(fields.count)
  for (name, value) in fields {
    text.append(contentsOf: name.utf8)
    text.append(contentsOf: value.utf8)
    lengths.append((name.utf8.count, value.utf8.count))
  }

  // nghttp2 copies the fields during the call, and reads them only.
  return text.withUnsafeMutableBufferPointer { bytes in
    var next = bytes.baseAddress!
    let fields = lengths.map { length in
      let value = next + length.name
      defer { next = value + length.value }
      return nghttp2_nv(
        name: next, value: value, namelen: length.name, valuelen: length.value,
        flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
    }
    return fields.withUnsafeBufferPointer { body($0.baseAddress!, $0.count) }
  }
}
