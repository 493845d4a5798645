import AMQP
import Crypto
import Domain
import Formats
public import JSON

/// What a command prints of a dead message.
extension DeadMessage {
  /// Writes the members of a line that lists the message. It names no customer but by the hash.
  public func writeLine(to json: inout JSONWriter, position: Int, _ naming: PersonNaming) {
    json.member("kind", kind.rawValue)
    json.member("position", Int64(position))
    json.member("id", id)
    json.member("cause", cause.rawValue)
    json.member("reason", reason)
    json.member("publisherId", publisherId?.number)
    if kind == .deliveries {
      json.member("endpointId", endpointId)
      json.member("topic", topic)
    }
    json.member("attempt", Int64(attempt))
    json.member("buriedAt", buriedAt.map(rfc3339(milliseconds:)))
    json.member("time", time.map(rfc3339(milliseconds:)))
    if naming != .none, !people.isEmpty {
      json.member("customers", array: people.sorted().map { JSONWriter.text(naming.name($0, of: publisherId ?? 0)) })
    }
  }

  /// Writes the message with its headers and its body. Without `plain`, the body names customers by the hash or not at
  /// all, and has nothing else that a client told about a person. A body that nobody can read may name anybody.
  public func write(to json: inout JSONWriter, position: Int, _ naming: PersonNaming) {
    writeLine(to: &json, position: position, naming)
    let headers = delivery.properties.headers.sorted { ExactText($0.key) < ExactText($1.key) }
    json.member("headers", json: JSONWriter.object(headers.map { ($0.key, Self.json($0.value)) }))
    json.member("redelivered", delivery.isRedelivered)
    guard naming != .plain else {
      if let body { json.member("body", json: body.json) } else { json.member("bodyText", text) }
      return
    }
    if let body, !isUnreadable {
      json.member("body", json: body.naming(naming, of: publisherId ?? 0).json)
    } else {
      json.member("bodyBytes", Int64(delivery.body.count))
      json.member("bodySHA256", Hex.encode(SHA256.hash(delivery.body)))
    }
  }

  /// The most bytes of a body that is not JSON.
  private static let mostText = 64 << 10
  private var text: String { String(decoding: delivery.body.prefix(Self.mostText), as: UTF8.self) }

  private static func json(_ value: AMQPValue) -> [UInt8] {
    switch value {
    case .string(let text): JSONWriter.text(text)
    case .int(let number): Array(String(number).utf8)
    case .bool(let flag): Array((flag ? "true" : "false").utf8)
    case .other: JSONWriter.null
    }
  }
}
