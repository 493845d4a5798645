import CHiredis

/// Reads replies in the Redis protocol from bytes that come in pieces. hiredis does the work.
final class ReplyReader {
  /// Bytes that are no reply.
  struct Defect: Error {
    /// hiredis's text.
    let cause: String
  }

  private let reader: UnsafeMutablePointer<redisReader>

  /// Creates a reader; `nil` without memory.
  init?() {
    guard let reader = redisReaderCreate() else { return nil }
    self.reader = reader
  }

  deinit { redisReaderFree(reader) }

  /// Takes the next bytes. It copies them.
  func feed(_ bytes: UnsafeRawBufferPointer) throws(Defect) {
    let status = redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    guard status == REDIS_OK else { throw defect }
  }

  /// Returns the next reply; `nil` until all of it has come.
  func next() throws(Defect) -> RESPValue? {
    var found: UnsafeMutableRawPointer?
    guard redisReaderGetReply(reader, &found) == REDIS_OK else { throw defect }
    guard let found else { return nil }
    defer { freeReplyObject(found) }
    return RESPValue(copying: found.assumingMemoryBound(to: redisReply.self))
  }

  private var defect: Defect {
    Defect(cause: withUnsafeBytes(of: reader.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
  }
}
