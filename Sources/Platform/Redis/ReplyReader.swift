import CHiredis

/// Reads replies in the Redis protocol from bytes that come in pieces. hiredis does the work.
///
/// hiredis 0.14 allocates an array as soon as it reads its length, and keeps all bytes of a text that has not come
/// whole. So 13 bytes, `*2000000000\r\n`, take 16 GB. The reader therefore limits both, for a whole reply: hiredis
/// makes an object of each element as soon as it comes.
final class ReplyReader {
  /// A reply whose arrays have more elements in all is a defect. No command of ours is answered with a tenth of them.
  static let mostElements = 1_000_000
  /// So many bytes of a reply that has not come whole are a defect.
  static let mostBytes = 64 << 20

  /// Bytes that are no reply.
  struct Defect: Error {
    /// hiredis's text.
    let cause: String
  }

  private let reader: UnsafeMutablePointer<redisReader>
  /// The elements of the arrays of a reply that has not come whole. hiredis passes the pointer to ``ArrayLimit``.
  private let elements = UnsafeMutablePointer<Int>.allocate(capacity: 1)
  /// The bytes that have come since the last whole reply.
  private var bytesOfReply = 0

  /// Creates a reader; `nil` without memory.
  init?() {
    elements.initialize(to: 0)
    guard let reader = ArrayLimit.makeReader() else {
      elements.deallocate()
      return nil
    }
    self.reader = reader
    reader.pointee.privdata = UnsafeMutableRawPointer(elements)
  }

  deinit {
    redisReaderFree(reader)
    elements.deallocate()
  }

  /// Takes the next bytes. It copies them.
  func feed(_ bytes: UnsafeRawBufferPointer) throws(Defect) {
    guard bytes.count <= Self.mostBytes - bytesOfReply else {
      throw Defect(cause: "a reply of more than \(Self.mostBytes) bytes")
    }
    bytesOfReply += bytes.count
    let status = redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    guard status == REDIS_OK else { throw defect }
  }

  /// Returns the next reply; `nil` until all of it has come.
  func next() throws(Defect) -> RESPValue? {
    var found: UnsafeMutableRawPointer?
    guard redisReaderGetReply(reader, &found) == REDIS_OK else { throw defect }
    guard let found else { return nil }
    defer { freeReplyObject(found) }
    elements.pointee = 0
    bytesOfReply = reader.pointee.len - reader.pointee.pos
    return RESPValue(copying: found.assumingMemoryBound(to: redisReply.self))
  }

  private var defect: Defect {
    let cause = withUnsafeBytes(of: reader.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    // hiredis takes a refusal of `ArrayLimit` for a lack of memory.
    guard reader.pointee.err == REDIS_ERR_OOM else { return Defect(cause: cause) }
    return Defect(cause: "\(cause), or a reply of more than \(Self.mostElements) elements")
  }
}

/// hiredis's own functions that make replies, except that a reply of too many elements is refused before it has memory.
private enum ArrayLimit {
  /// Makes a reader with the functions; `nil` without memory.
  static func makeReader() -> UnsafeMutablePointer<redisReader>? {
    guard let functions, let reader = redisReaderCreate() else { return nil }
    reader.pointee.fn = functions
    return reader
  }

  // Safe: written once, before any reader has them; hiredis only reads them. They are never freed.
  nonisolated(unsafe) private static let functions: UnsafeMutablePointer<redisReplyObjectFunctions>? = {
    guard let own = original else { return nil }
    let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
    functions.initialize(to: own)
    functions.pointee.createArray = { task, count in
      guard let task, let elements = task.pointee.privdata?.assumingMemoryBound(to: Int.self),
        Int(count) <= ReplyReader.mostElements - elements.pointee
      else { return nil }
      elements.pointee += max(0, Int(count))
      return original?.createArray(task, count)
    }
    return functions
  }()

  // hiredis gives its functions to each reader that `redisReaderCreate` makes.
  private static let original: redisReplyObjectFunctions? = {
    guard let reader = redisReaderCreate() else { return nil }
    defer { redisReaderFree(reader) }
    return reader.pointee.fn.pointee
  }()
}
