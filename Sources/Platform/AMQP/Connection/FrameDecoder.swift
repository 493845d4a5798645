import CRabbitMQ

/// Decodes the frames of a broker. librabbitmq reads their methods and properties.
///
/// `amqp_handle_input` could cut the frames too. It copies each of them, and reads beyond a payload that is shorter
/// than its kind's fixed part (decision 0027).
final class FrameDecoder {
  /// Why bytes are of no use.
  struct Defect: Error {
    /// A text of ours or of librabbitmq.
    let cause: String
  }

  private let reader: FrameReader
  /// The memory of one decoded frame.
  private let pool = UnsafeMutablePointer<amqp_pool_t>.allocate(capacity: 1)

  /// - Parameter frameMax: see ``frameMax``.
  init(frameMax: Int) {
    reader = FrameReader(frameMax: frameMax)
    init_amqp_pool(pool, 4096)
  }

  deinit {
    empty_amqp_pool(pool)
    pool.deallocate()
  }

  /// The largest whole frame.
  var frameMax: Int {
    get { reader.frameMax }
    set { reader.frameMax = newValue }
  }

  /// Takes the next frame from the front of the bytes; `nil` when they hold no whole frame. It keeps their rest then.
  ///
  /// The frame is valid until the next call. It has the type 0 if this client does not know its type.
  func next(from bytes: inout UnsafeRawBufferPointer) throws(Defect) -> amqp_frame_t? {
    recycle_amqp_pool(pool)
    let frame: FrameReader.Frame?
    do { frame = try reader.next(from: &bytes) } catch {
      switch error {
      case .otherVersion: throw Defect(cause: "the server does not speak AMQP 0-9-1")
      case .malformed: throw Self.malformed
      }
    }
    guard let frame else { return nil }
    var decoded = amqp_frame_t()
    decoded.frame_type = frame.type
    decoded.channel = frame.channel
    switch Int32(frame.type) {
    case AMQP_FRAME_METHOD: try decode(method: frame.payload, into: &decoded)
    case AMQP_FRAME_HEADER: try decode(header: frame.payload, into: &decoded)
    case AMQP_FRAME_BODY: decoded.payload.body_fragment = Self.view(of: frame.payload, from: 0)
    case AMQP_FRAME_HEARTBEAT: break
    default: decoded.frame_type = 0
    }
    return decoded
  }

  private func decode(method payload: UnsafeRawBufferPointer, into frame: inout amqp_frame_t) throws(Defect) {
    guard payload.count >= 4 else { throw Self.malformed }
    let id = UInt32(bigEndian: payload.loadUnaligned(as: UInt32.self))
    frame.payload.method.id = id
    try Self.check(amqp_decode_method(id, pool, Self.view(of: payload, from: 4), &frame.payload.method.decoded))
  }

  /// Decodes the head of a content: its class, an unused weight, the size of its body, and its properties.
  private func decode(header payload: UnsafeRawBufferPointer, into frame: inout amqp_frame_t) throws(Defect) {
    guard payload.count >= 12 else { throw Self.malformed }
    let contentClass = UInt16(bigEndian: payload.loadUnaligned(as: UInt16.self))
    let raw = Self.view(of: payload, from: 12)
    frame.payload.properties.class_id = contentClass
    frame.payload.properties.body_size = UInt64(
      bigEndian: payload.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
    frame.payload.properties.raw = raw
    try Self.check(amqp_decode_properties(contentClass, pool, raw, &frame.payload.properties.decoded))
  }

  private static var malformed: Defect { Defect(cause: statusText(AMQP_STATUS_BAD_AMQP_DATA.rawValue)) }

  private static func check(_ status: Int32) throws(Defect) {
    guard status >= 0 else { throw Defect(cause: statusText(status)) }
  }

  /// librabbitmq reads these bytes and changes none.
  private static func view(of bytes: UnsafeRawBufferPointer, from start: Int) -> amqp_bytes_t {
    amqp_bytes_t(
      len: bytes.count - start, bytes: UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + start }))
  }
}
