import CRabbitMQ
import Crypto
import Testing

@testable import AMQP

/// The log-in, frame by frame: the broker's frames are bytes, and so are the answers.
struct AMQPLoginTests {
  private var endpoint = AMQPEndpoint(host: "broker", user: "me", password: "secret", virtualHost: "/shop")
  private let decoder = FrameDecoder(frameMax: 1 << 16)
  private var sent = FrameBuffer(frameMax: 1 << 16)

  /// Gives a method to the log-in, as bytes.
  private mutating func receive<Method>(
    _ login: inout AMQPLogin, _ id: amqp_method_number_t, _ method: inout Method
  ) throws -> AMQPLogin.Progress {
    var broker = FrameBuffer(frameMax: 1 << 16)
    #expect(broker.add(id, channel: 0, &method) == AMQP_STATUS_OK.rawValue)
    var progress: AMQPLogin.Progress?
    try broker.bytes.withUnsafeBytes { bytes in
      var rest = bytes
      let frame = try #require(try decoder.next(from: &rest))
      progress = login.receive(frame.payload.method, &sent)
    }
    return try #require(progress)
  }

  private mutating func start(_ login: inout AMQPLogin, offering mechanisms: String) throws -> AMQPLogin.Progress {
    var arena = ArgumentArena()
    var start = amqp_connection_start_t()
    start.version_minor = 9
    start.mechanisms = arena.bytes(mechanisms)
    start.locales = arena.bytes("en_US")
    return try receive(&login, AMQP_CONNECTION_START_METHOD, &start)
  }

  /// The methods that were sent since the last call, and what a closure reads of each.
  private mutating func takeSent(_ read: (amqp_method_t) -> Void) throws {
    let decoder = FrameDecoder(frameMax: 1 << 16)
    try sent.bytes.withUnsafeBytes { bytes in
      var rest = bytes
      while let frame = try decoder.next(from: &rest) {
        #expect(frame.channel == 0)
        read(frame.payload.method)
      }
      #expect(rest.isEmpty)
    }
    sent = FrameBuffer(frameMax: 1 << 16)
  }

  @Test mutating func `the whole way with a password`() throws {
    var login = AMQPLogin(to: endpoint, name: "test")
    #expect(login.operation == "log in as me to /shop")
    #expect(try start(&login, offering: "AMQPLAIN PLAIN") == .goesOn)
    try takeSent { method in
      #expect(method.id == AMQP_CONNECTION_START_OK_METHOD)
      let ok = method.decoded.assumingMemoryBound(to: amqp_connection_start_ok_t.self).pointee
      #expect(String(copying: ok.mechanism) == "PLAIN")
      #expect(String(copying: ok.response) == "\0me\0secret")
      #expect(String(copying: ok.locale) == "en_US")
      var properties: [String: [String]] = [:]
      for index in 0..<Int(ok.client_properties.num_entries) {
        let entry = ok.client_properties.entries[index]
        if Int32(entry.value.kind) == Int32(AMQP_FIELD_KIND_TABLE.rawValue) {
          let inner = entry.value.value.table
          properties[String(copying: entry.key)] = (0..<Int(inner.num_entries)).map {
            "\(String(copying: inner.entries[$0].key)) \(inner.entries[$0].value.value.boolean)"
          }
        } else {
          properties[String(copying: entry.key)] = [String(copying: entry.value.value.bytes)]
        }
      }
      #expect(
        properties == [
          "connection_name": ["test"], "product": ["countersign"],
          "capabilities": [
            "authentication_failure_close 1", "basic.nack 1", "connection.blocked 1", "consumer_cancel_notify 1",
            "publisher_confirms 1",
          ],
        ])
    }
    var tune = amqp_connection_tune_t(channel_max: 2047, frame_max: 8192, heartbeat: 60)
    #expect(try receive(&login, AMQP_CONNECTION_TUNE_METHOD, &tune) == .goesOn)
    var ids: [amqp_method_number_t] = []
    try takeSent { method in
      ids.append(method.id)
      if method.id == AMQP_CONNECTION_TUNE_OK_METHOD {
        let ok = method.decoded.assumingMemoryBound(to: amqp_connection_tune_ok_t.self).pointee
        #expect((ok.channel_max, ok.frame_max, ok.heartbeat) == (2047, 8192, 10))
      } else {
        let open = method.decoded.assumingMemoryBound(to: amqp_connection_open_t.self).pointee
        #expect(String(copying: open.virtual_host) == "/shop")
      }
    }
    #expect(ids == [AMQP_CONNECTION_TUNE_OK_METHOD, AMQP_CONNECTION_OPEN_METHOD])
    var ok = amqp_connection_open_ok_t()
    let end = try receive(&login, AMQP_CONNECTION_OPEN_OK_METHOD, &ok)
    #expect(end == .done(AMQPLogin.Agreement(frameMax: 8192, heartbeat: 10)))
  }

  @Test(arguments: [
    (0, 0, 131_072, 10), (4, 4096, 4096, 4), (60, 1 << 20, 131_072, 10),
  ])
  mutating func `the smaller limit counts, and zero is none`(
    heartbeat: Int, frameMax: Int, agreedFrameMax: Int, agreedHeartbeat: Int
  ) throws {
    var login = AMQPLogin(to: endpoint, name: "test")
    _ = try start(&login, offering: "PLAIN")
    var tune = amqp_connection_tune_t(channel_max: 0, frame_max: UInt32(frameMax), heartbeat: UInt16(heartbeat))
    _ = try receive(&login, AMQP_CONNECTION_TUNE_METHOD, &tune)
    var ok = amqp_connection_open_ok_t()
    let end = try receive(&login, AMQP_CONNECTION_OPEN_OK_METHOD, &ok)
    #expect(end == .done(AMQPLogin.Agreement(frameMax: agreedFrameMax, heartbeat: agreedHeartbeat)))
  }

  @Test(arguments: [1, 19, 4095])
  mutating func `a frame without room for a message is refused`(frameMax: UInt32) throws {
    var login = AMQPLogin(to: endpoint, name: "test")
    _ = try start(&login, offering: "PLAIN")
    try takeSent { _ in }
    var tune = amqp_connection_tune_t(channel_max: 0, frame_max: frameMax, heartbeat: 0)
    let end = try receive(&login, AMQP_CONNECTION_TUNE_METHOD, &tune)
    #expect(end == .failed("the broker allows frames of \(frameMax) bytes, fewer than AMQP's 4096"))
    #expect(sent.isEmpty)
  }

  @Test mutating func `a certificate logs in without a password`() throws {
    endpoint.mechanism = .external
    var login = AMQPLogin(to: endpoint, name: "test")
    #expect(login.operation == "log in with a certificate to /shop")
    #expect(try start(&login, offering: "PLAIN EXTERNAL") == .goesOn)
    try takeSent { method in
      let ok = method.decoded.assumingMemoryBound(to: amqp_connection_start_ok_t.self).pointee
      #expect(String(copying: ok.mechanism) == "EXTERNAL")
      #expect(ok.response.len == 0)
    }
  }

  @Test mutating func `a mechanism that the broker does not offer is named, and no password is sent`() throws {
    endpoint.mechanism = .external
    var login = AMQPLogin(to: endpoint, name: "test")
    // A name inside another name does not count.
    let end = try start(&login, offering: "PLAIN EXTERNALLY")
    #expect(end == .failed("the broker offers PLAIN EXTERNALLY, not EXTERNAL"))
    #expect(sent.isEmpty)
  }

  @Test mutating func `the broker's reason is told, and its close is answered`() throws {
    var login = AMQPLogin(to: endpoint, name: "test")
    _ = try start(&login, offering: "PLAIN")
    try takeSent { _ in }
    var arena = ArgumentArena()
    var close = amqp_connection_close_t()
    (close.reply_code, close.reply_text) = (403, arena.bytes("ACCESS_REFUSED - no"))
    let end = try receive(&login, AMQP_CONNECTION_CLOSE_METHOD, &close)
    #expect(end == .failed("403 ACCESS_REFUSED - no"))
    try takeSent { #expect($0.id == AMQP_CONNECTION_CLOSE_OK_METHOD) }
  }

  @Test mutating func `methods out of turn end the log-in`() throws {
    var tune = amqp_connection_tune_t(channel_max: 0, frame_max: 0, heartbeat: 0)
    var early = AMQPLogin(to: endpoint, name: "test")
    #expect(try receive(&early, AMQP_CONNECTION_TUNE_METHOD, &tune) == .failed("unexpected answer"))
    var twice = AMQPLogin(to: endpoint, name: "test")
    _ = try start(&twice, offering: "PLAIN")
    #expect(try start(&twice, offering: "PLAIN") == .failed("unexpected answer"))
  }

  @Test mutating func `until the broker has spoken, the end of a connection without TLS leads to amqps`() throws {
    var login = AMQPLogin(to: endpoint, name: "test")
    let advised = "invalid AMQP data; if this port speaks TLS, use amqps:// in the URL"
    #expect(login.explained("invalid AMQP data") == advised)
    _ = try start(&login, offering: "PLAIN")
    #expect(login.explained("invalid AMQP data") == "invalid AMQP data")
    endpoint.tls = TLSClientFiles()
    #expect(AMQPLogin(to: endpoint, name: "test").explained("no") == "no")
  }

  @Test mutating func `another version is refused`() throws {
    var login = AMQPLogin(to: endpoint, name: "test")
    var start = amqp_connection_start_t()
    (start.version_major, start.version_minor) = (1, 0)
    let end = try receive(&login, AMQP_CONNECTION_START_METHOD, &start)
    #expect(end == .failed("the server does not speak AMQP 0-9-1"))
  }
}
