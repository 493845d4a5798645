import Crypto
import Domain
import Formats
import HTTPServer

/// The part of a list that the client asks for.
struct PageRequest: Equatable {
  /// The maximum number of elements.
  let limit: Int
  /// The end of the last page, as its answer gave it.
  let cursor: String?

  /// Reads `limit` and `cursor`, and refuses every unknown parameter.
  ///
  /// - Parameter others: further parameters of the path.
  /// - Throws: ``Problem``: 400 REQ0002.
  init(_ request: HTTPServerRequest, others: [String] = []) throws(Problem) {
    let known = ["limit", "cursor"] + others
    var seen: Set<String> = []
    for (name, _) in request.query {
      guard known.contains(name) else {
        throw .invalidQuery("\(name.prefix(100)): is not known; expected \(known.joined(separator: ", "))")
      }
      guard seen.insert(name).inserted else { throw .invalidQuery("\(name): is there twice") }
    }
    cursor = request.query("cursor")
    guard let text = request.query("limit") else {
      limit = 50
      return
    }
    guard let limit = Int(text), String(limit) == text, (1...250).contains(limit) else {
      throw .invalidQuery("limit: expected a whole number from 1 to 250")
    }
    self.limit = limit
  }
}

/// The place behind an endpoint in the list of all endpoints. It stays valid after a deletion of that endpoint.
struct EndpointCursor: Equatable, Comparable {
  let createdAt: Int64
  let id: EndpointId

  init(createdAt: Int64, id: EndpointId) {
    self.createdAt = createdAt
    self.id = id
  }

  /// Reads a cursor that ``text`` wrote; `nil` for any other text.
  init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
    // The pattern of docs/reference/openapi.yaml, and nothing else.
    guard parts.count == 2, (1...15).contains(parts[0].count), parts[0].allSatisfy(\.isASCIIDigit),
      let time = Int64(String(decoding: parts[0], as: UTF8.self)),
      let id = Hex.decode(String(decoding: parts[1], as: UTF8.self)), (1...256).contains(id.count)
    else { return nil }
    self.init(createdAt: time, id: EndpointId(String(decoding: id, as: UTF8.self)))
  }

  /// The cursor for the answer. Its content is not part of the contract.
  var text: String { "\(createdAt)-\(Hex.encode(Array(id.text.utf8)))" }

  static func < (left: Self, right: Self) -> Bool {
    (left.createdAt, left.id) < (right.createdAt, right.id)
  }
}
