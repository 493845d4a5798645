import Domain
import Formats
import JSON

/// A value of a member in Mbaasy's contract, which writes `null` where there is none.
enum MbaasyValue: Sendable {
  case text(String?)
  case texts([String])
  case number(Int64)
  case flag(Bool?)
  /// Milliseconds since 1970, as `{"utc":"2018-02-26 10:35:47 UTC","ms":1519641347834}`.
  case time(Int64?)
  /// Apple's id of a purchase: a number, as the contract's example shows it, if every reader of JSON keeps its digits;
  /// otherwise a text.
  case identifier(String)
  /// A value that is JSON already.
  case json([UInt8]?)

  /// The value as JSON.
  var json: [UInt8] {
    switch self {
    case .text(let text?): JSONWriter.text(text)
    case .texts(let texts): JSONWriter.array(texts.map(JSONWriter.text))
    case .number(let number): Array(String(number).utf8)
    case .flag(let flag?): Array((flag ? "true" : "false").utf8)
    case .time(let time?): Self.timestamp(time)
    case .identifier(let id): Self.exactNumber(id).map { MbaasyValue.number($0).json } ?? JSONWriter.text(id)
    case .json(let json?): json
    case .text(nil), .flag(nil), .time(nil), .json(nil): JSONWriter.null
    }
  }

  private static func timestamp(_ milliseconds: Int64) -> [UInt8] {
    let text = rfc3339(milliseconds: milliseconds)
    return JSONWriter.object { time in
      time.member("utc", "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) UTC")
      time.member("ms", milliseconds)
    }
  }

  private static func exactNumber(_ text: String) -> Int64? {
    // Many readers keep numbers as a `Double`.
    CustomerId(text).number.flatMap { $0 < 1 << 53 ? $0 : nil }
  }
}

extension JSONWriter {
  /// Writes a member in the form of Mbaasy's contract.
  mutating func member(_ name: StaticString, _ value: MbaasyValue) { member(name, json: value.json) }
}
