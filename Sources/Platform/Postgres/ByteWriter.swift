/// Writes values in network byte order into memory that has room for them.
struct ByteWriter {
  private let memory: UnsafeMutableRawBufferPointer
  /// The number of bytes that are written.
  private(set) var count = 0

  init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  mutating func append(_ value: some FixedWidthInteger) {
    let value = value.bigEndian
    withUnsafeBytes(of: value) { append($0) }
  }

  mutating func append(_ text: String) {
    // A text that is not in one piece of memory comes from Objective-C, which Linux does not have.
    if text.utf8.withContiguousStorageIfAvailable({ append(UnsafeRawBufferPointer($0)) }) == nil {
      append(Array(text.utf8))
    }
  }

  mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

  /// Appends an element of 17 bytes, which PostgreSQL refuses as a UUID.
  mutating func appendNoUUID() {
    append(Int32(17))
    for _ in 0..<17 { append(0 as UInt8) }
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer) {
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
  }
}
