import Formats

/// Why verified data is no evidence about a purchase: Apple signed it, but it does not say enough to decide by.
public struct EvidenceDefect: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }

  static let fieldMissing = Self("the transaction lacks a field that decides")
  static let kindUnknown = Self("the product's type is unknown")
  static let renewalFieldMissing = Self("the renewal information lacks a field that decides")
  static let dateOutOfRange = Self("a date is before 1970 or after the year 9999")
  static let textInvalid = Self("a text has a NUL character")
  static let textTooLong = Self("a text is longer than \(longestText) bytes")

  /// The most bytes of a text of Apple's that the ledger keeps and events tell. Apple's longest are bundle ids, of 155
  /// characters, and product ids, of 100.
  static let longestText = 512

  /// Refuses values that no database of ours could keep.
  static func check(dates: [Int64?], texts: [String?]) throws(EvidenceDefect) {
    for case let date? in dates where !date.isTime { throw dateOutOfRange }
    for case let text? in texts {
      if text.utf8.count > longestText { throw textTooLong }
      if text.utf8.contains(0) { throw textInvalid }
    }
  }
}
