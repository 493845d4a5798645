/// The offers of one publisher, found by product.
public struct OfferCatalog: Sendable {
  /// All of them, in the order of the publisher's file.
  public let all: [Offer]
  private let byProduct: [ProductId: Offer]
  private let ids: Set<OfferId>
  /// Products that more than one offer names; a configuration mistake.
  public let ambiguousProductIds: [ProductId]

  /// A product, and the offer that it gives access to.
  struct Product {
    let id: ProductId
    let offer: Offer
  }

  /// Whether there is an offer with an id.
  public func contains(_ id: OfferId) -> Bool { ids.contains(id) }

  /// Creates a catalog. If two offers name one product, the first offer gets it.
  public init(_ offers: [Offer]) {
    all = offers
    ids = Set(offers.map(\.id))
    var byProduct: [ProductId: Offer] = [:]
    var ambiguous: Set<ProductId> = []
    for offer in offers {
      for product in offer.productIds {
        if byProduct[product] == nil { byProduct[product] = offer } else { ambiguous.insert(product) }
      }
    }
    self.byProduct = byProduct
    ambiguousProductIds = ambiguous.sorted()
  }

  /// The products with the offers that they give access to, in the order of the products' bytes.
  var products: [Product] {
    byProduct.sorted { $0.key < $1.key }.map { Product(id: $0.key, offer: $0.value) }
  }

  /// Returns the offer that a product gives access to.
  public func offer(forProduct productId: ProductId) -> Offer? { byProduct[productId] }
}
