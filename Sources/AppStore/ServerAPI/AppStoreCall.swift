import Formats
import FoundationEssentials

/// One call before it has a host and a token. This type checks or escapes everything that comes from outside.
struct AppStoreCall: Sendable {
  let endpoint: AppStoreEndpoint
  let method: String
  /// Path and query, escaped.
  private(set) var target: String
  private(set) var body: [UInt8]?

  /// Creates a call. `path` must hold nothing from outside except identifiers that were checked.
  init(_ endpoint: AppStoreEndpoint, _ method: String = "GET", path: String) {
    self.endpoint = endpoint
    self.method = method
    target = path
  }

  /// Adds query items and leaves out those without a value.
  mutating func add(query: [(name: String, value: String?)]) {
    for case (let name, let value?) in query {
      target += target.contains("?") ? "&" : "?"
      target += "\(name)=\(PercentCoding.encoded(value))"
    }
  }

  /// Sets a body that is JSON already.
  mutating func set(json: [UInt8]) { body = json }

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
}
