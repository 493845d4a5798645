/// Reads what ``ArrayEncoding`` writes, from a server: the elements of an array in their order.
enum ArrayDecoding {
  /// Calls `body` with the bytes of each element, and with `nil` for NULL. It takes all dimensions as one.
  static func forEach(_ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer?) -> Void) {
    var next = 0
    func integer() -> Int {
      precondition(next + 4 <= bytes.count, "not an array of PostgreSQL")
      defer { next += 4 }
      return Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: next, as: Int32.self)))
    }
    let dimensions = integer()
    next = 12
    var count = dimensions == 0 ? 0 : 1
    for _ in 0..<dimensions {
      count *= integer()
      next += 4
    }
    for _ in 0..<count {
      let length = integer()
      guard length >= 0 else {
        body(nil)
        continue
      }
      precondition(next + length <= bytes.count, "not an array of PostgreSQL")
      body(UnsafeRawBufferPointer(rebasing: bytes[next..<next + length]))
      next += length
    }
  }
}
