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
    try requireOnly(["limit", "cursor"] + others, request)
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

  /// The most elements to read: one more than the page shows whether there is another page.
  var wanted: Int { limit + 1 }

  /// Reads the cursor; `nil` means the beginning of the list.
  ///
  /// - Parameter read: reads a cursor's text; `nil` for a text that no answer gave.
  /// - Throws: ``Problem``: 400 REQ0002.
  func start<Place>(_ read: (String) -> Place?) throws(Problem) -> Place? {
    guard let cursor else { return nil }
    guard let place = read(cursor) else { throw .invalidQuery("cursor: expected one of an answer") }
    return place
  }

  /// Cuts what was read to the page.
  ///
  /// - Returns: the last element of the page, if others follow it: the cursor leads on from there.
  func cut<Element>(_ found: inout [Element]) -> Element? {
    guard found.count > limit else { return nil }
    found.removeLast(found.count - limit)
    return found.last
  }

  /// Reads a cursor that is a time in milliseconds since 1970, a hyphen, and an id.
  ///
  /// Its pattern is that of docs/reference/openapi.yaml. The id is not checked.
  static func timeAndId(_ cursor: String) -> (time: Int64, id: String)? {
    let parts = cursor.utf8.split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, (1...15).contains(parts[0].count), parts[0].allSatisfy(\.isASCIIDigit),
      let time = Int64(String(decoding: parts[0], as: UTF8.self)), let id = String(parts[1])
    else { return nil }
    return (time, id)
  }
}
