import FoundationEssentials

/// One call before it has a host and a token; whatever comes from outside is checked or escaped here.
struct AppStoreCall: Sendable {
  let endpoint: AppStoreEndpoint
  let method: String
  /// Path and query, escaped.
  private(set) var target: String
  private(set) var body: [UInt8]?

  /// Creates a call; `path` must hold nothing from outside but identifiers that were checked.
  init(_ endpoint: AppStoreEndpoint, _ method: String = "GET", path: String) {
    self.endpoint = endpoint
    self.method = method
    target = path
  }

  /// Adds query items, those without a value left out.
  mutating func add(query: [(name: String, value: String?)]) {
    for case (let name, let value?) in query {
      target += target.contains("?") ? "&" : "?"
      target += "\(name)=\(Self.escaped(value))"
    }
  }

  /// Sets the JSON body.
  mutating func set(body: some Encodable) throws(AppStoreAPIError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      self.body = Array(try encoder.encode(body))
    } catch {
      throw AppStoreAPIError(.invalidRequest("the body cannot be written as JSON"), endpoint: endpoint)
    }
  }

  /// Everything but RFC 3986's unreserved characters becomes `%XX`.
  static func escaped(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var escaped: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        escaped.append(byte)
      default: escaped += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: escaped, as: UTF8.self)
  }
}
