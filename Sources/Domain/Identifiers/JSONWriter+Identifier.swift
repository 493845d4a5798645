public import JSON

extension JSONWriter {
  /// Writes an id as a text; `nil` leaves the member out.
  public mutating func member(_ name: StaticString, _ id: (some Identifier)?) { member(name, id?.text) }

  /// Writes the members that name a customer: `cleengCustomerId`, where the id is a number, and `customerId`.
  package mutating func customer(_ id: CustomerId) {
    member("cleengCustomerId", id.number)
    member("customerId", id)
  }
}
