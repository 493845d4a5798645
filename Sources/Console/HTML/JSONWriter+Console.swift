import Domain
import JSON

/// What the twins in JSON of several pages have.
extension JSONWriter {
  /// Writes a publisher's id. Ids are texts in every twin: a number would be another one behind 2^53 in JavaScript.
  mutating func publisher(_ id: PublisherId?) { member("publisherId", id.map { "\($0)" }) }

  /// Writes a number; what JSON does not have is left out, as `nil` is.
  mutating func measure(_ name: StaticString, _ number: Double?) {
    guard let number, number.isFinite else { return }
    member(name, json: Array((Int64(exactly: number).map { "\($0)" } ?? "\(number)").utf8))
  }
}
