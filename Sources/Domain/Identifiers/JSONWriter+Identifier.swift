public import JSON

extension JSONWriter {
  /// Writes an id as a text; `nil` leaves the member out.
  public mutating func member(_ name: StaticString, _ id: (some Identifier)?) { member(name, id?.text) }
}
