/// Reads what ``ArrayEncoding`` writes, from a server: the elements of an array in their order.
enum ArrayDecoding {
  /// Calls `body` with the bytes of each element, and with `nil` for NULL. It takes all dimensions as one.
  ///
  /// - Returns: whether the bytes are an array of PostgreSQL.
  static func forEach(_ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer?) -> Void) -> Bool {
    var next = 0
    func integer() -> Int? {
      guard next + 4 <= bytes.count else { return nil }
      defer { next += 4 }
      return Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: next, as: Int32.self)))
    }
    let head = 12
    guard bytes.count >= head, let dimensions = integer() else { return false }
    next = head
    // Each element has four bytes at least, so no array has more of them than bytes.
    var count = dimensions == 0 ? 0 : 1
    for _ in 0..<max(dimensions, 0) {
      guard let length = integer(), length >= 0, length <= bytes.count else { return false }
      let (product, isTooMuch) = count.multipliedReportingOverflow(by: length)
      guard !isTooMuch else { return false }
      count = product
      next += 4
    }
    for _ in 0..<count {
      guard let length = integer() else { return false }
      guard length >= 0 else {
        body(nil)
        continue
      }
      guard next + length <= bytes.count else { return false }
      body(UnsafeRawBufferPointer(rebasing: bytes[next..<next + length]))
      next += length
    }
    return true
  }
}
