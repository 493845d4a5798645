package import Domain

/// Grants by value. Times are days of ``TestPurchases``; the customer is of publisher 7.
package enum TestGrants {
  /// The id of a number.
  package static func id(_ number: Int) -> GrantId {
    let digits = String(number)
    return GrantId("00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.utf8.count) + digits)
  }

  package static func grant(
    _ number: Int = 1, of offer: OfferId = "S1", to customer: CustomerId = "me", note: String? = nil,
    from start: Double = 10, until end: Double, withdrawn: Double? = nil, ended: Double? = nil
  ) -> Grant {
    Grant(
      id: id(number), customer: CustomerKey(publisherId: 7, id: customer), offerId: offer, reason: .support, note: note,
      createdAt: TestPurchases.at(start), endsAt: TestPurchases.at(end), withdrawnAt: withdrawn.map(TestPurchases.at),
      endedAt: ended.map(TestPurchases.at))
  }
}
