import Domain
import Formats

extension PublisherReader {
  private enum FamilySharing: String, CaseIterable { case grant, refuse }

  /// One offer, with what the doors show of it.
  func offer(_ reader: SettingsReader) -> Offer {
    let days = reader.int(
      "accessDays", 0, 0...36_500, "For non-renewing products: days of access from the purchase; 0 means no end.")
    let id = reader.string("offerId", nil, "The offer's id.")
    checkLength([id], "offerId", reader)
    return Offer(
      id: OfferId(id),
      productIds: reader.strings("productIds", nil, "Apple product ids that give access to the offer.")
        .map(ProductId.init(_:)),
      accessDays: days == 0 ? nil : Int(days),
      tags: distinct("tags", "What the offer gives access to, in your own words; doors return it.", reader),
      displayName: reader.optionalString("displayName", "Name for people; doors return it."),
      itemClass: reader.optionalString("itemClass", "Class of the item in your catalog; doors return it."),
      catalogVersion: reader.optionalString(
        "catalogVersion", "Version of your catalog that has the offer; a door's client may ask for one version."),
      price: price(reader),
      coupons: distinct("coupons", "Coupons of generic campaigns that are valid for the offer.", reader),
      refunds: reader.choice(
        "refunds", RefundPolicy.endAccess,
        "What a refund by Apple does to the access: `endAccess`, `keepUntilPeriodEnd`, or `reportOnly`."),
      grantsFamilyShared: reader.choice(
        "familyShared", FamilySharing.grant,
        "Whether a purchase that a family member shares gives access: `grant` or "
          + "`refuse`.") == .grant,
      consumption: consumption(reader))
  }

  private func distinct(_ key: String, _ meaning: String, _ reader: SettingsReader) -> [String] {
    let texts = reader.strings(key, [], meaning)
    if texts.hasRepetition { reader.note(key, "expected no text twice") }
    checkLength(texts, key, reader)
    return texts
  }

  /// Refuses names that are longer than a request may have, and would make events long.
  private func checkLength(_ names: [String], _ key: String, _ reader: SettingsReader) {
    let limit = TextLimit.characters(256)
    if !names.allSatisfy(limit.admits) { reader.note(key, "expected \(limit)") }
  }

  private func price(_ reader: SettingsReader) -> Offer.Price? {
    let before = reader.mistakes.count
    let form = Form<Int64?>(number: "a whole number from 0 to 9999999999999") { number in
      guard number == number.rounded(), (0...9_999_999_999_999).contains(number) else { return nil }
      return Int64(number)
    }
    let amount = reader.read(
      "price.amount", .some(nil), "none", "Price in your catalog, in hundredths of the currency: `999` for 9.99.", form)
    let currency = reader.optionalString("price.currency", "Currency of `price.amount`, a code of ISO 4217.")
      .map(CurrencyCode.init(_:))
    if let currency, !currency.isKnown {
      reader.note("price.currency", "is \"\(currency)\", expected a code of ISO 4217, such as USD")
    }
    guard reader.mistakes.count == before else { return nil }
    switch (amount ?? nil, currency) {
    case (nil, nil): return nil
    case (nil, _?):
      reader.note("price.amount", "is missing, expected a whole number, since there is a price.currency")
      return nil
    case (_?, nil):
      reader.note("price.currency", "is missing, expected a code of ISO 4217, since there is a price.amount")
      return nil
    case (let amount?, let currency?): return Offer.Price(amount: amount, currency: currency)
    }
  }
}
