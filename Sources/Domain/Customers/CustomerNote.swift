public import Formats

/// What a person at the console has noted about a customer.
public struct CustomerNote: Sendable, Equatable {
  public var id: NoteId
  public var customer: CustomerKey
  @Exact public var text: String
  /// Who wrote it, by the name at the console.
  @Exact public var person: String
  /// Milliseconds since 1970.
  public var createdAt: Int64

  /// Creates a note.
  public init(id: NoteId, customer: CustomerKey, text: String, person: String, createdAt: Int64) {
    (self.id, self.customer, self.text) = (id, customer, text)
    (self.person, self.createdAt) = (person, createdAt)
  }
}

/// The id of a ``CustomerNote``: a UUID in lower case.
public struct NoteId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// Reads an id; `nil` for a text that is no UUID, and for the UUID of zeros.
  public init?(canonical text: String) {
    guard let id = GrantId(canonical: text) else { return nil }
    self.init(id.text)
  }

  /// Makes an id that nobody can guess: a UUID of version 4 (RFC 9562, section 5.4).
  ///
  /// - Parameter random: 16 bytes.
  public init(random: [UInt8]) { self.init(GrantId(random: random).text) }
}
