import CHiredis

/// Reads replies in the Redis protocol from bytes that come in pieces. hiredis does the work.
///
/// hiredis 0.14 allocates an array as soon as it reads its length, and keeps all bytes of a text that has not come
/// whole. So 13 bytes, `*2000000000\r\n`, take 16 GB. The reader therefore limits both.
final class ReplyReader {
  /// An array of more elements is a defect. No command of ours is answered with a tenth of them.
  static let mostElements = 1_000_000
  /// So many bytes of a reply that has not come whole are a defect.
  static let mostBytes = 64 << 20

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
    ArrayLimit.set(on: reader)
  }

  deinit { redisReaderFree(reader) }

  /// Takes the next bytes. It copies them.
  func feed(_ bytes: UnsafeRawBufferPointer) throws(Defect) {
    guard bytes.count <= Self.mostBytes - (reader.pointee.len - reader.pointee.pos) else {
      throw Defect(cause: "a reply of more than \(Self.mostBytes) bytes")
    }
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
    let cause = withUnsafeBytes(of: reader.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    // hiredis takes a refusal of `ArrayLimit` for a lack of memory.
    guard reader.pointee.err == REDIS_ERR_OOM else { return Defect(cause: cause) }
    return Defect(cause: "\(cause), or an array of more than \(Self.mostElements) elements")
  }
}

/// hiredis's own functions that make replies, except that a long array is refused before it has memory.
private enum ArrayLimit {
  /// Gives a reader the functions.
  static func set(on reader: UnsafeMutablePointer<redisReader>) { reader.pointee.fn = functions }

  // Safe: written once, before any reader has them; hiredis only reads them. They are never freed.
  nonisolated(unsafe) private static let functions: UnsafeMutablePointer<redisReplyObjectFunctions> = {
    let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
    functions.initialize(to: original)
    functions.pointee.createArray = { task, elements in
      elements <= ReplyReader.mostElements ? original.createArray(task, elements) : nil
    }
    return functions
  }()

  // hiredis gives its functions to each reader that `redisReaderCreate` makes.
  private static let original: redisReplyObjectFunctions = {
    guard let reader = redisReaderCreate() else { fatalError("hiredis: out of memory for the first reader") }
    defer { redisReaderFree(reader) }
    return reader.pointee.fn.pointee
  }()
}
