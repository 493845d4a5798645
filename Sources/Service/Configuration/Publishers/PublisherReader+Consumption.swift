import Domain

extension PublisherReader {
  private enum Preference: String, CaseIterable {
    case none
    case decline = "DECLINE"
    case grantFull = "GRANT_FULL"
    case grantProrated = "GRANT_PRORATED"
  }

  /// What happens when Apple asks about the consumption of an offer's products.
  func consumption(_ reader: SettingsReader) -> ConsumptionPolicy {
    let answerer = reader.choice(
      "consumption.answer", ConsumptionPolicy.Answerer.ask,
      "Who answers if a customer wants a refund and Apple asks about the consumption: `ask` leaves it to you; "
        + "`fromFacts` answers at once if the customer has consented.")
    let preference = reader.choice(
      "consumption.refundPreference", Preference.none,
      "The decision that an answer from facts asks Apple for: `none`, `DECLINE`, `GRANT_FULL`, or `GRANT_PRORATED`.")
    return ConsumptionPolicy(
      answerer, preference: ConsumptionAnswer.Preference(rawValue: preference.rawValue),
      isSampleProvided: reader.bool(
        "consumption.sampleContentProvided", false,
        "Whether customers can try the offer's products before they buy them. Answers from facts tell Apple."))
  }
}
