import Domain
import Formats

/// The publisher's offers of one catalog version.
struct PlayFabCatalog {
  let offers: OfferCatalog
  /// `nil` for all offers, which are PlayFab's primary catalog.
  let version: String?

  /// Returns the offer that a product gives, if it is in this version.
  func offer(forProduct productId: ProductId) -> Offer? {
    guard let offer = offers.offer(forProduct: productId) else { return nil }
    guard let version else { return offer }
    return offer.catalogVersion.isExactly(version) ? offer : nil
  }
}
