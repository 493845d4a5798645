import Domain
import Testing

/// Offers found by product.
struct OfferCatalogTests {
  @Test func ambiguity() {
    let catalog = OfferCatalog([
      Offer(id: "A", productIds: ["y", "x"]), Offer(id: "B", productIds: ["x", "z"]),
      Offer(id: "C", productIds: ["y", "x"]),
    ])
    #expect(catalog.ambiguousProductIds == ["x", "y"])
    #expect(catalog.all.map(\.id) == ["A", "B", "C"])
    #expect(catalog.offer(forProduct: "x")?.id == "A")
    #expect(catalog.offer(forProduct: "z")?.id == "B")
    #expect(catalog.offer(forProduct: "w") == nil)
  }

  @Test func distinctProductsAreNotAmbiguous() {
    let catalog = OfferCatalog([Offer(id: "A", productIds: ["x"]), Offer(id: "B", productIds: ["y"])])
    #expect(catalog.ambiguousProductIds.isEmpty)
    #expect(OfferCatalog([]).offer(forProduct: "x") == nil)
  }

  /// U+212A (KELVIN SIGN) equals `K` as a Swift `String`, but a product of that name is another product.
  @Test func `products and offers are their bytes`() {
    let catalog = OfferCatalog([
      Offer(id: "A", productIds: ["com.example.Kids"]), Offer(id: "K", productIds: ["com.example.\u{212A}ids"]),
    ])
    #expect(catalog.ambiguousProductIds.isEmpty)
    #expect(catalog.offer(forProduct: "com.example.Kids")?.id == "A")
    #expect(catalog.offer(forProduct: "com.example.\u{212A}ids")?.id == "K")
    #expect(catalog.contains("K") && !catalog.contains("\u{212A}"))
  }
}
