import Domain
import Formats

/// The members that every kind of access by hand has.
extension BodyReader {
  /// The end of the access, in milliseconds since 1970.
  ///
  /// - Throws: ``Problem``: 400 REQ0001.
  func requiredTime(_ key: String) throws(Problem) -> Int64 {
    guard let text = try text(key, .ruled) else { throw problem(key, "is missing") }
    guard let time = milliseconds(rfc3339: text) else {
      throw problem(key, "expected a time after RFC 3339, such as 2026-12-24T18:00:00Z")
    }
    return time
  }

  /// What the person noted; `nil` if nothing.
  ///
  /// - Throws: ``Problem``: 400 REQ0001.
  func noteByHand() throws(Problem) -> String? {
    guard let note = try text("note", .ruled) else { return nil }
    guard (1...Grant.longestNote).contains(note.unicodeScalars.count), !note.utf8.contains(0) else {
      throw problem("note", "expected 1 to \(Grant.longestNote) characters, none of them NUL")
    }
    return note
  }
}
