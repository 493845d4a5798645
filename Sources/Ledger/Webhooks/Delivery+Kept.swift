import AMQP
import JSON

extension Delivery {
  /// The event as Redis keeps it: headers and body, so that a notifier can deliver it again.
  var kept: String {
    let headers = headers.compactMapValues { value in
      switch value {
      case .string(let text): JSONValue.string(text)
      case .int(let number): .integer(number)
      case .bool(let flag): .bool(flag)
      case .other: nil
      }
    }
    var writer = JSONWriter()
    writer.raw("{\"headers\":{")
    for (number, header) in headers.sorted(by: { $0.key < $1.key }).enumerated() {
      if number > 0 { writer.raw(",") }
      writer.string(header.key)
      switch header.value {
      case .string(let text):
        writer.raw(":")
        writer.string(text)
      case .integer(let value): writer.raw(":\(value)")
      case .bool(let flag): writer.raw(":\(flag)")
      default: writer.raw(":null")
      }
    }
    writer.raw("},\"body\":")
    // The body was read as JSON, so it is UTF-8 and comes back byte for byte.
    writer.string(String(decoding: body, as: UTF8.self))
    writer.raw("}")
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  /// Reads a kept event for another delivery of it; `nil` when the text is no kept event.
  init?(kept: String, eventId: String, endpointId: String, round: String) {
    struct Kept: Decodable {
      let headers: [String: JSONValue]
      let body: String
    }
    guard let kept = try? JSONText(Array(kept.utf8)).decoded(as: Kept.self) else { return nil }
    let headers = kept.headers.compactMapValues { value -> AMQPValue? in
      switch value {
      case .string(let text): .string(text)
      case .integer(let number): .int(number)
      case .bool(let flag): .bool(flag)
      default: nil
      }
    }
    do {
      try self.init(
        eventId: eventId, endpointId: endpointId, round: round, headers: headers, body: Array(kept.body.utf8))
    } catch {
      return nil
    }
  }
}
