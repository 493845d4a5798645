import CRabbitMQ
import Testing

@testable import AMQP

/// Frames to the byte, after AMQP 0-9-1 section 4.2.3, in any pieces.
struct FrameDecoderTests {
  /// A delivery with two body frames, and a heartbeat behind it.
  private static let stream: [UInt8] = {
    var buffer = FrameBuffer(frameMax: 4096)
    var arena = ArgumentArena()
    var deliver = amqp_basic_deliver_t()
    deliver.consumer_tag = arena.bytes("consumer")
    deliver.delivery_tag = 7
    deliver.exchange = arena.bytes("exchange")
    deliver.routing_key = arena.bytes("key")
    _ = buffer.add(AMQP_BASIC_DELIVER_METHOD, channel: 3, &deliver)
    var properties = amqp_basic_properties_t()
    properties._flags = amqp_flags_t(AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_HEADERS_FLAG)
    properties.message_id = arena.bytes("m-1")
    properties.headers = arena.table(["number": 5, "text": "ä"])
    _ = buffer.add(channel: 3, &properties, body: body)
    buffer.addHeartbeat()
    return buffer.bytes
  }()
  private static let body = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }

  private static let told = [
    "method 3 7 consumer exchange key", "header 3 5000 m-1 2", "body 3 4088", "body 3 912", "heartbeat 0",
  ]

  /// What a decoder says of the bytes, given in pieces that end at these places.
  private func tell(_ stream: [UInt8], cutAt cuts: [Int]) throws -> (told: [String], body: [UInt8]) {
    let decoder = FrameDecoder(frameMax: 4096)
    var told: [String] = []
    var body: [UInt8] = []
    for (start, end) in zip([0] + cuts, cuts + [stream.count]) {
      try stream[start..<end].withUnsafeBytes { bytes in
        var rest = bytes
        while let frame = try decoder.next(from: &rest) {
          switch Int32(frame.frame_type) {
          case AMQP_FRAME_METHOD:
            let method = frame.payload.method.decoded.assumingMemoryBound(to: amqp_basic_deliver_t.self).pointee
            let names = [method.consumer_tag, method.exchange, method.routing_key].map { String(copying: $0) }
            told.append("method \(frame.channel) \(method.delivery_tag) \(names.joined(separator: " "))")
          case AMQP_FRAME_HEADER:
            let header = frame.payload.properties
            let decoded = AMQPProperties(
              copying: header.decoded.assumingMemoryBound(to: amqp_basic_properties_t.self).pointee)
            told.append(
              "header \(frame.channel) \(header.body_size) \(decoded.messageID ?? "") \(decoded.headers.count)")
          case AMQP_FRAME_BODY:
            let piece = frame.payload.body_fragment
            told.append("body \(frame.channel) \(piece.len)")
            body += UnsafeRawBufferPointer(start: piece.bytes, count: piece.len)
          case AMQP_FRAME_HEARTBEAT: told.append("heartbeat \(frame.channel)")
          default: told.append("unknown")
          }
        }
        #expect(rest.isEmpty)
      }
    }
    return (told, body)
  }

  @Test func `frames may come in two pieces, cut anywhere`() throws {
    for cut in 0...Self.stream.count {
      let result = try tell(Self.stream, cutAt: [cut])
      #expect(result.told == Self.told && result.body == Self.body, "cut at \(cut)")
    }
  }

  @Test func `frames may come byte by byte`() throws {
    let result = try tell(Self.stream, cutAt: Array(1..<Self.stream.count))
    #expect(result.told == Self.told && result.body == Self.body)
  }

  @Test(arguments: [
    // Larger than agreed, and too large for a whole number of 31 bits.
    [1, 0, 0, 0, 0, 0x10, 0] as [UInt8], [1, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF],
    // Without its end.
    [8, 0, 0, 0, 0, 0, 0, 0],
    // Payloads shorter than the fixed part of a method and of a content's head.
    [1, 0, 0, 0, 0, 0, 3, 0, 10, 0, 0xCE], [2, 0, 1, 0, 0, 0, 2, 0, 60, 0xCE],
    // Arguments that end too early, and a method that does not exist.
    [1, 0, 1, 0, 0, 0, 5, 0, 60, 0, 60, 9, 0xCE], [1, 0, 1, 0, 0, 0, 4, 0, 60, 0x7F, 1, 0xCE],
  ])
  func `bytes that are no frame are a defect`(bytes: [UInt8]) {
    for cut in 0...bytes.count {
      #expect(throws: FrameDecoder.Defect.self) { try tell(bytes, cutAt: [cut]) }
    }
  }

  @Test func `a server of another version is named`() {
    let error = #expect(throws: FrameDecoder.Defect.self) { try tell([0x41, 0x4D, 0x51, 0x50, 0, 1, 0, 0], cutAt: []) }
    #expect(error?.cause == "the server does not speak AMQP 0-9-1")
  }

  @Test func `a frame of an unknown type is passed over`() throws {
    let result = try tell([9, 0, 0, 0, 0, 0, 1, 5, 0xCE, 8, 0, 0, 0, 0, 0, 0, 0xCE], cutAt: [])
    #expect(result.told == ["unknown", "heartbeat 0"])
  }
}
