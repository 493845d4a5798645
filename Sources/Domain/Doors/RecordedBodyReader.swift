import Formats
public import JSON

/// Reads the webhook bodies of a vendor, for `countersign shadow compare`. docs/how-to/try-in-shadow.md has what each
/// vendor's say, and what they lack.
public protocol RecordedBodyReader: Sendable {
  /// The name of the preset.
  var name: String { get }
  /// The columns of the same vendor's export, for its words.
  var columns: ExportColumns { get }

  /// Reads a body.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: ``RecordedBody/Unusable`` or `DecodingError`.
  func body(_ members: borrowing JSONObject, now: Int64) throws -> RecordedBody
}

extension RecordedBodyReader {
  /// The customer of a body.
  ///
  /// - Throws: ``RecordedBody/Unusable``, as the functions below.
  public func customer(_ id: String?) throws -> CustomerId {
    guard let id = id.map(CustomerId.init(_:)) else { throw RecordedBody.Unusable(cause: "names no customer") }
    guard id.isValid else { throw RecordedBody.Unusable(cause: "the customer's id cannot be used") }
    return id
  }

  /// The transaction with an id, as the vendor writes it.
  public func transaction(_ id: String) throws -> TransactionId {
    let bare = columns.bare(id)
    guard TransactionId.isValid(bare) else {
      throw RecordedBody.Unusable(cause: "the transaction's id is not 1 to \(TransactionId.longest) digits")
    }
    return TransactionId(bare)
  }

  /// A time in milliseconds since 1970.
  public func time(_ number: Int64?) throws -> Int64? {
    guard let number else { return nil }
    guard number.isTime else { throw RecordedBody.Unusable(cause: "has a time that no calendar has") }
    return number
  }

  /// A time as a text, in milliseconds since 1970.
  public func date(_ text: String?) throws -> Int64? {
    guard let text else { return nil }
    guard let time = ImportTime.milliseconds(text) else {
      throw RecordedBody.Unusable(cause: "has a time that cannot be read")
    }
    return time
  }
}
