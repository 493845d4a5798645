/// Cuts the bytes that come from a broker into frames (AMQP 0-9-1, section 4.2.3).
///
/// A frame that has come in one piece is not copied.
final class FrameReader {
  /// One frame. Its payload is valid until the next call of the reader.
  struct Frame {
    let type: UInt8
    let channel: UInt16
    let payload: UnsafeRawBufferPointer
  }

  /// Bytes that are no frame.
  enum Defect: Error, Equatable {
    /// The server has answered with the version that it speaks.
    case otherVersion
    /// The frame is larger than agreed, or has no end.
    case malformed
  }

  /// The largest whole frame.
  var frameMax: Int

  /// The beginning of a frame whose rest has not come yet.
  private var kept: UnsafeMutableRawBufferPointer
  private var count = 0
  /// Whether the last frame stands in `kept`.
  private var hasGivenKept = false

  /// The type, the channel and the size of the payload.
  private static let head = 7
  private static let end: UInt8 = 206

  /// - Parameter frameMax: see ``frameMax``.
  init(frameMax: Int) {
    self.frameMax = frameMax
    kept = .allocate(byteCount: 4096, alignment: 8)
  }

  deinit { kept.deallocate() }

  /// Takes the next frame from the front of the bytes; `nil` when they hold no whole frame. It keeps their rest then.
  func next(from bytes: inout UnsafeRawBufferPointer) throws(Defect) -> Frame? {
    if hasGivenKept { (count, hasGivenKept) = (0, false) }
    if count == 0 {
      if let size = try Self.size(of: bytes, atMost: frameMax), size <= bytes.count {
        let whole = UnsafeRawBufferPointer(rebasing: bytes[..<size])
        bytes = UnsafeRawBufferPointer(rebasing: bytes[size...])
        return try Self.frame(whole)
      }
    }
    while !bytes.isEmpty {
      let size = try Self.size(of: keptBytes, atMost: frameMax)
      keep(min((size ?? Self.head) - count, bytes.count), of: &bytes)
      if let size = try Self.size(of: keptBytes, atMost: frameMax), size == count {
        hasGivenKept = true
        return try Self.frame(keptBytes)
      }
    }
    return nil
  }

  private var keptBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: kept[..<count]) }

  private func keep(_ more: Int, of bytes: inout UnsafeRawBufferPointer) {
    if count + more > kept.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * (count + more), alignment: 8)
      larger.copyMemory(from: keptBytes)
      kept.deallocate()
      kept = larger
    }
    UnsafeMutableRawBufferPointer(rebasing: kept[count...]).copyMemory(
      from: UnsafeRawBufferPointer(rebasing: bytes[..<more]))
    count += more
    bytes = UnsafeRawBufferPointer(rebasing: bytes[more...])
  }

  /// The size of the whole frame that begins here; `nil` when its head has not come yet.
  private static func size(of bytes: UnsafeRawBufferPointer, atMost limit: Int) throws(Defect) -> Int? {
    guard bytes.count >= head else { return nil }
    if bytes.prefix(4).elementsEqual("AMQP".utf8) { throw .otherVersion }
    let payload = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 3, as: UInt32.self))
    guard Int(payload) + head + 1 <= limit else { throw .malformed }
    return Int(payload) + head + 1
  }

  private static func frame(_ bytes: UnsafeRawBufferPointer) throws(Defect) -> Frame {
    guard bytes[bytes.count - 1] == end else { throw .malformed }
    return Frame(
      type: bytes[0], channel: UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt16.self)),
      payload: UnsafeRawBufferPointer(rebasing: bytes[head..<(bytes.count - 1)]))
  }
}
