import CRabbitMQ

/// Frames that wait to be sent, in the form of AMQP 0-9-1, section 4.2.3. librabbitmq encodes their content.
///
/// The buffer collects frames, because the library's own calls write each frame at once. That would be four system
/// calls a job, and as many packets for the broker to read (decision 0012).
struct FrameBuffer {
  /// The bytes that wait for the socket.
  private(set) var bytes: [UInt8] = []
  /// The number of these bytes that the socket has taken.
  private var sent = 0
  private let maxPayload: Int
  private let scratch: ScratchMemory

  /// Room for the content of one frame. It is freed with the last reference.
  private final class ScratchMemory {
    let bytes: UnsafeMutableRawBufferPointer
    init(_ count: Int) { bytes = .allocate(byteCount: count, alignment: 8) }
    deinit { bytes.deallocate() }
  }

  /// - Parameter frameMax: the negotiated size of a whole frame.
  init(frameMax: Int) {
    maxPayload = frameMax - 8
    // The other twenty bytes are the frame's own eight and a content header's twelve.
    scratch = ScratchMemory(frameMax - 20)
  }

  var isEmpty: Bool { bytes.isEmpty }

  /// Adds a method.
  ///
  /// - Returns: a status of librabbitmq; when it is not OK, nothing was added.
  mutating func add<Method>(_ id: amqp_method_number_t, channel: UInt16, _ method: inout Method) -> Int32 {
    let room = amqp_bytes_t(len: scratch.bytes.count, bytes: scratch.bytes.baseAddress)
    let count = withUnsafeMutablePointer(to: &method) { amqp_encode_method(id, $0, room) }
    guard count >= 0 else { return count }
    begin(UInt8(AMQP_FRAME_METHOD), channel: channel, size: Int(count) + 4)
    append(id)
    bytes.append(contentsOf: scratch.bytes.prefix(Int(count)))
    bytes.append(Self.end)
    return AMQP_STATUS_OK.rawValue
  }

  /// Adds a message's header and its body.
  ///
  /// - Returns: a status of librabbitmq; when it is not OK, nothing was added.
  mutating func add(channel: UInt16, _ properties: inout amqp_basic_properties_t, body: [UInt8]) -> Int32 {
    let room = amqp_bytes_t(len: scratch.bytes.count, bytes: scratch.bytes.baseAddress)
    let count = withUnsafeMutablePointer(to: &properties) {
      amqp_encode_properties(UInt16(AMQP_BASIC_CLASS), $0, room)
    }
    guard count >= 0 else { return count }
    begin(UInt8(AMQP_FRAME_HEADER), channel: channel, size: Int(count) + 12)
    append(UInt16(AMQP_BASIC_CLASS))
    append(UInt16(0))  // the weight, which is unused
    append(UInt64(body.count))
    bytes.append(contentsOf: scratch.bytes.prefix(Int(count)))
    bytes.append(Self.end)
    var rest = body[...]
    while !rest.isEmpty {
      let piece = rest.prefix(maxPayload)
      begin(UInt8(AMQP_FRAME_BODY), channel: channel, size: piece.count)
      bytes.append(contentsOf: piece)
      bytes.append(Self.end)
      rest = rest.dropFirst(piece.count)
    }
    return AMQP_STATUS_OK.rawValue
  }

  /// Adds the first bytes of a connection, which name the version of the protocol (section 4.2.2).
  mutating func addProtocolHeader() {
    bytes.append(contentsOf: "AMQP".utf8)
    bytes.append(contentsOf: [0, 0, 9, 1])
  }

  /// Adds a heartbeat.
  mutating func addHeartbeat() {
    begin(UInt8(AMQP_FRAME_HEARTBEAT), channel: 0, size: 0)
    bytes.append(Self.end)
  }

  /// Takes back the method of a message whose header could not be added.
  mutating func truncate(to count: Int) { bytes.removeLast(bytes.count - count) }

  /// Offers the waiting bytes to a function that returns how many it took.
  mutating func send(_ take: (UnsafeRawBufferPointer) -> Int) {
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
      guard count > 0 else { return forgetSent() }
      sent += count
    }
    bytes.removeAll(keepingCapacity: bytes.capacity <= 1 << 20)
    sent = 0
  }

  /// Frees the memory of what the socket has taken, when it is the larger part.
  private mutating func forgetSent() {
    guard sent > 1 << 16, 2 * sent >= bytes.count else { return }
    bytes.removeFirst(sent)
    sent = 0
  }

  private static let end = UInt8(AMQP_FRAME_END)

  private mutating func begin(_ type: UInt8, channel: UInt16, size: Int) {
    bytes.append(type)
    append(channel)
    append(UInt32(size))
  }

  private mutating func append(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }
}
