import CRabbitMQ
import Testing

@testable import AMQP

/// Frames to the byte, after AMQP 0-9-1 section 4.2.3 and the XML of its methods.
struct FrameBufferTests {
  private let ok = AMQP_STATUS_OK.rawValue

  @Test func methods() {
    var buffer = FrameBuffer(frameMax: 4096)
    var ack = amqp_basic_ack_t(delivery_tag: 0x0102, multiple: 1)
    #expect(buffer.add(AMQP_BASIC_ACK_METHOD, channel: 7, &ack) == ok)
    #expect(buffer.bytes == [1, 0, 7, 0, 0, 0, 13, 0, 60, 0, 80, 0, 0, 0, 0, 0, 0, 1, 2, 1, 0xCE])
    buffer.addHeartbeat()
    #expect(buffer.bytes.suffix(8) == [8, 0, 0, 0, 0, 0, 0, 0xCE])
  }

  @Test func contentIsSplit() {
    var buffer = FrameBuffer(frameMax: 4096)
    var properties = amqp_basic_properties_t()
    properties._flags = amqp_flags_t(AMQP_BASIC_DELIVERY_MODE_FLAG)
    properties.delivery_mode = 2
    let body = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
    #expect(buffer.add(channel: 1, &properties, body: body) == ok)
    let header: [UInt8] = [2, 0, 1, 0, 0, 0, 15, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0x13, 0x88, 0x10, 0, 2, 0xCE]
    #expect(Array(buffer.bytes.prefix(header.count)) == header)
    let first = buffer.bytes.dropFirst(header.count)
    #expect(Array(first.prefix(7)) == [3, 0, 1, 0, 0, 0x0F, 0xF8])
    #expect(Array(first.dropFirst(7).prefix(4088)) == Array(body.prefix(4088)))
    let second = first.dropFirst(7 + 4088 + 1)
    #expect(Array(second.prefix(7)) == [3, 0, 1, 0, 0, 0x03, 0x90] && second.last == 0xCE)
    #expect(Array(second.dropFirst(7).dropLast()) == Array(body.dropFirst(4088)))
  }

  @Test func whatDoesNotFitInAFrameIsNotAdded() {
    var buffer = FrameBuffer(frameMax: 64)
    var properties = amqp_basic_properties_t()
    let long = Array(repeating: UInt8(65), count: 200)
    long.withUnsafeBytes { text in
      properties._flags = amqp_flags_t(AMQP_BASIC_MESSAGE_ID_FLAG)
      properties.message_id = amqp_bytes_t(len: 200, bytes: UnsafeMutableRawPointer(mutating: text.baseAddress))
      #expect(buffer.add(channel: 1, &properties, body: [1]) != ok)
    }
    #expect(buffer.isEmpty)
  }

  @Test func whatTheSocketDoesNotTakeWaits() {
    var buffer = FrameBuffer(frameMax: 4096)
    for _ in 0..<3 { buffer.addHeartbeat() }
    var taken: [UInt8] = []
    var room = 10
    func take(_ bytes: UnsafeRawBufferPointer) -> Int {
      let count = min(room, bytes.count)
      taken += bytes.prefix(count)
      room -= count
      return count
    }
    buffer.send(take)
    #expect(taken.count == 10 && !buffer.isEmpty)
    buffer.addHeartbeat()
    room = 100
    buffer.send(take)
    #expect(buffer.isEmpty && taken == Array(repeating: [8, 0, 0, 0, 0, 0, 0, 0xCE], count: 4).flatMap(\.self))
  }
}
