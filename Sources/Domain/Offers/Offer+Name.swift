extension Offer {
  /// What people call it.
  public var name: String { displayName ?? id.text }
}

extension OfferCatalog {
  /// What people call an offer. One that has left the publisher's file keeps its id.
  public func name(of id: OfferId) -> String { all.first { $0.id == id }?.name ?? id.text }
}
