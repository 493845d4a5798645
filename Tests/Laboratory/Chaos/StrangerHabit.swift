import Crypto
import EventLoop
import Fleets

/// What one stranger sends to a gateway.
enum StrangerHabit: CaseIterable {
  case halfHead, halfBody, slowNotification, slowReceipt
  case stuckChunk, wrongChunk, hugeLength, twoLengths, zeros, bareLines, pipeline
  case wideBody, escapedKeys, deepBody, longChain, wrongPassword

  /// Whether the stranger goes on sending a byte now and then.
  var isSlow: Bool { self == .slowNotification || self == .slowReceipt }

  /// Whether the gateway must end the connection although the stranger keeps it open.
  ///
  /// A whole request gets its answer, and its connection may stay.
  var mustEnd: Bool {
    switch self {
    case .halfHead, .halfBody, .slowNotification, .slowReceipt, .stuckChunk, .wrongChunk, .zeros: true
    default: false
    }
  }

  /// The first bytes.
  ///
  /// They are made once: the simulator runs in the same process, and must not wait for them.
  var bytes: [UInt8] { Self.made[self] ?? [] }

  private static let made = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.making) })

  private var making: [UInt8] {
    switch self {
    case .halfHead: Array("POST /apple/notifications HTTP/1.1\r\nHost: a\r\nX-Half: ".utf8)
    case .halfBody: Self.head("Content-Length: 1000") + Array("{\"signedPayload\":\"".utf8)
    case .slowNotification: Self.head("Content-Length: 900000") + Self.spaces(64 << 10)
    case .slowReceipt: Self.head("Content-Length: 900000", "/v1/validate", Self.iaptic) + Self.spaces(64 << 10)
    case .stuckChunk: Self.head("Transfer-Encoding: chunked", "/x") + Array(("3;" + Self.letters(21_000)).utf8)
    case .wrongChunk: Self.head("Transfer-Encoding: chunked") + Array("ffffffffffffffffff\r\nabc\r\n".utf8)
    case .hugeLength: Self.head("Content-Length: 9223372036854775808")
    case .twoLengths: Self.head("Content-Length: 2\r\nTransfer-Encoding: chunked") + Array("2\r\n{}\r\n0\r\n\r\n".utf8)
    case .zeros: [0, 0, 0x0d, 0x0a] + Self.head("X-Zero: \0\0") + [0, 0]
    case .bareLines: Array("POST /apple/notifications HTTP/1.1\nHost: a\nContent-Length: 2\n\n{}".utf8)
    case .pipeline: Array(repeating: Array("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n".utf8), count: 100).flatMap { $0 }
    case .wideBody: Self.whole("{\"unified_receipt\":{\"latest_receipt_info\":[" + Self.list("{}", 240_000) + "]}}")
    case .escapedKeys: Self.whole("{" + (0..<60_000).map { #""\u0061\#($0)":0"# }.joined(separator: ",") + "}")
    case .deepBody: Self.whole(String(repeating: "[", count: 200_000))
    case .longChain:
      Self.whole(
        #"{"signedPayload":"\#(Self.base64URL(#"{"alg":"ES256","x5c":["# + Self.list(#""""#, 200_000) + "]}")).e30.AA"}"#
      )
    case .wrongPassword:
      Self.whole("{\"notification_type\":\"REFUND\",\"environment\":\"PROD\",\"bid\":\"b\",\"password\":\"guess\"}")
    }
  }

  /// The public key of an app at iaptic's door: whoever has the app has the key.
  private static let iaptic =
    "Authorization: Basic "
    + Base64.encode(Array("\(RunningFleet.iapticAppName):\(RunningFleet.iapticAPIKey)".utf8)) + "\r\n"

  private static func head(
    _ framing: String, _ path: String = "/apple/notifications", _ more: String = ""
  ) -> [UInt8] {
    Array("POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\(more)\(framing)\r\n\r\n".utf8)
  }

  private static func whole(_ body: String) -> [UInt8] { head("Content-Length: \(body.utf8.count)") + Array(body.utf8) }
  private static func letters(_ count: Int) -> String { String(repeating: "a", count: count) }
  private static func spaces(_ count: Int) -> [UInt8] { [UInt8](repeating: 0x20, count: count) }
  private static func list(_ item: String, _ count: Int) -> String {
    Array(repeating: item, count: count).joined(separator: ",")
  }
  private static func base64URL(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }
}
