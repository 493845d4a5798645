/// The header fields of an answer, read line by line as libcurl hands them over. The lines are a stranger's.
struct AnswerHead {
  /// The limit is above the header fields of any real server. Each field is kept, so a hostile server could fill the
  /// memory.
  static let maxBytes = 32 << 10

  /// In the order in which they came. The names are in lower case, and no value has blanks around it.
  private(set) var fields: [(name: String, value: String)] = []
  private var bytes = 0
  /// A transfer coding that the client does not read; `nil` without one.
  ///
  /// libcurl would take `gzip` off again, as often as the field names it, and whether asked for it or not. Some
  /// kilobytes, packed three times, keep it busy for a minute, during which the loop is blocked.
  private(set) var foreignCoding: String?

  /// Whether the lines, those of interim answers too, were longer than ``maxBytes``.
  var isTooLong: Bool { bytes > Self.maxBytes }

  /// Takes a line with its end, also one that is no field. Returns false when there are too many, or when a field
  /// says that the body comes in a ``foreignCoding``.
  mutating func take(_ line: UnsafeRawBufferPointer) -> Bool {
    // Each field costs memory of its own, even if it is short.
    bytes += line.count + 64
    guard !isTooLong else { return false }
    if line.starts(with: "HTTP/".utf8) {
      fields.removeAll()  // an interim answer came before
      return true
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return true }
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0d).contains($0) }
    var value = line[(colon + 1)...].drop(while: isBlank)
    while let last = value.last, isBlank(last) { value.removeLast() }
    let name = String(unsafeUninitializedCapacity: colon) { text in
      for (place, byte) in line[..<colon].enumerated() {
        text[place] = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
      }
      return colon
    }
    let text = String(decoding: value, as: UTF8.self)
    fields.append((name, text))
    // `identity` is none; old servers name it.
    guard name.utf8.elementsEqual("transfer-encoding".utf8), !["chunked", "identity"].contains(text.lowercased()) else {
      return true
    }
    foreignCoding = String(text.prefix(100))
    return false
  }
}
