import Crypto
import Formats
import HTTPServer

/// Which part of a list is asked for.
struct PageRequest: Equatable {
  /// How many elements at most.
  let limit: Int
  /// What the last page ended with, as its answer had it.
  let cursor: String?

  /// Reads `limit` and `cursor`, and refuses every parameter that is not known.
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

/// The place behind an endpoint in the list of all: it stays one when that endpoint is deleted.
struct EndpointCursor: Equatable, Comparable {
  let createdAt: Int64
  let id: String

  init(createdAt: Int64, id: String) {
    self.createdAt = createdAt
    self.id = id
  }

  /// Reads what ``text`` wrote; `nil` for anything else.
  init?(_ text: String) {
    guard let bytes = Base64URL.decode(text), let plain = String(validating: bytes, as: UTF8.self) else { return nil }
    let parts = plain.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let time = Int64(parts[0]) else { return nil }
    self.init(createdAt: time, id: String(parts[1]))
  }

  /// The cursor for the answer; no promise about what is in it.
  var text: String { Base64URL.encode(Array("\(createdAt) \(id)".utf8)) }

  static func < (left: Self, right: Self) -> Bool {
    (left.createdAt, left.id.exact) < (right.createdAt, right.id.exact)
  }
}
