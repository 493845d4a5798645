import Crypto
import Domain
import Formats

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
    guard let parts = PageRequest.timeAndId(text), let id = Hex.decode(parts.id), (1...256).contains(id.count)
    else { return nil }
    self.init(createdAt: parts.time, id: EndpointId(String(decoding: id, as: UTF8.self)))
  }

  /// The cursor for the answer. Its content is not part of the contract.
  var text: String { "\(createdAt)-\(Hex.encode(Array(id.text.utf8)))" }

  static func < (left: Self, right: Self) -> Bool {
    (left.createdAt, left.id) < (right.createdAt, right.id)
  }
}
