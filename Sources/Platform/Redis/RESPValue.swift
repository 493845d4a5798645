import CHiredis

/// A reply of Redis.
public enum RESPValue: Sendable, Equatable {
  case null
  case integer(Int64)
  /// A bulk or a status string. Bytes that are not UTF-8 are repaired.
  case text(String)
  case array([RESPValue])
  /// An error inside an array. The connection throws an error that is the whole reply.
  case error(String)

  /// The text, if it is a string.
  public var string: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// The number, if it is a number or a string that spells one.
  public var integer: Int64? {
    switch self {
    case .integer(let number): number
    case .text(let text): Int64(text)
    default: nil
    }
  }

  /// The elements, if it is an array.
  public var array: [RESPValue]? { if case .array(let elements) = self { elements } else { nil } }

  /// The fields and values of a hash, as `HGETALL` returns them.
  public var hash: [String: String] {
    guard let array else { return [:] }
    var fields: [String: String] = [:]
    for index in stride(from: 0, to: array.count - 1, by: 2) {
      if let key = array[index].string { fields[key] = array[index + 1].string }
    }
    return fields
  }

  /// Copies a reply, because hiredis frees it.
  init(copying reply: UnsafePointer<redisReply>) {
    let source = reply.pointee
    // A short text needs no memory of its own.
    func text() -> String {
      String(decoding: UnsafeRawBufferPointer(start: source.str, count: Int(source.len)), as: UTF8.self)
    }
    switch source.type {
    case REDIS_REPLY_INTEGER: self = .integer(source.integer)
    case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: self = .text(text())
    case REDIS_REPLY_ERROR: self = .error(text())
    case REDIS_REPLY_ARRAY:
      self = .array((0..<Int(source.elements)).map { RESPValue(copying: source.element[$0]!) })
    default: self = .null
    }
  }
}
