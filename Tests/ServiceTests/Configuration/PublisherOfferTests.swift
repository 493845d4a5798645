import Crypto
import Domain
import RoleSupport
import Testing

/// What the doors show of an offer, in the publishers' files.
struct PublisherOfferTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private func write(_ members: String) throws {
    try folder.write(
      #"{"publisherId": 7, "offers": [{"offerId": "S1", "productIds": ["a"]\#(members)}]}"#, to: "publishers/a.json")
  }

  private func offer(_ members: String) throws -> Offer {
    try write(members)
    return try #require(try folder.publishers()[7]?.offers.all.first)
  }

  @Test func silentFile() throws {
    #expect(try offer("") == Offer(id: "S1", productIds: ["a"]))
  }

  @Test func everything() throws {
    let members = """
      , "accessDays": 30, "tags": ["video", "sport"], "displayName": "Video", "itemClass": "passes",
      "catalogVersion": "5", "price": {"amount": 999, "currency": "USD"}, "coupons": ["SUMMER"]
      """
    #expect(
      try offer(members)
        == Offer(
          id: "S1", productIds: ["a"], accessDays: 30, tags: ["video", "sport"], displayName: "Video",
          itemClass: "passes", catalogVersion: "5", price: Offer.Price(amount: 999, currency: "USD"),
          coupons: ["SUMMER"]))
    #expect(try offer(#", "price": {"amount": 0, "currency": "JPY"}"#).price?.amount == 0)
  }

  @Test func `who answers Apple`() throws {
    #expect(try offer(#", "consumption": {}"#).consumption == ConsumptionPolicy())
    let full = #"{"answer": "fromFacts", "refundPreference": "DECLINE", "sampleContentProvided": true}"#
    #expect(
      try offer(#", "consumption": \#(full)"#).consumption
        == ConsumptionPolicy(.fromFacts, preference: .decline, isSampleProvided: true))
  }

  @Test(arguments: [
    (#""consumption": {"answer": "yes"}"#, #"consumption.answer: is "yes", expected one of ask, fromFacts"#),
    (#""consumption": {"refundPreference": "NO"}"#, #"consumption.refundPreference: is "NO", expected one of none"#),
    (#""consumption": {"x": 1}"#, "consumption.x: is no key of this file"),
    (#""price": {"amount": 999, "currency": "usd"}"#, #"price.currency: is "usd", expected a code of ISO 4217"#),
    (#""price": {"amount": 999, "currency": "XYZ"}"#, #"price.currency: is "XYZ", expected a code of ISO 4217"#),
    // The Kelvin sign.
    (#""price": {"amount": 999, "currency": "\#u{212A}WD"}"#, "price.currency: is"),
    (#""price": {"amount": 999}"#, "price.currency: is missing, expected a code of ISO 4217"),
    (#""price": {"currency": "USD"}"#, "price.amount: is missing, expected a whole number"),
    (#""price": {"amount": 9.99, "currency": "USD"}"#, "price.amount: is 9.99, expected a whole number from 0"),
    (#""price": {"amount": -1, "currency": "USD"}"#, "price.amount: is -1, expected a whole number from 0"),
    (#""price": "9.99""#, "price: is"), (#""tags": "video""#, "tags: is \"video\", expected a list of strings"),
    (#""tags": ["video", "video"]"#, "tags: expected no text twice"),
    (#""coupons": ["A", "B", "A"]"#, "coupons: expected no text twice"),
    (#""displayName": 7"#, "displayName: is 7, expected a string"), (#""class": "x""#, "class: is no key of this file"),
  ])
  func mistake(members: String, expected: String) throws {
    try write(", " + members)
    let mistakes = folder.publisherMistakes()
    #expect(mistakes.count == 1)
    #expect(mistakes.first?.hasPrefix("publishers/a.json: offers[0]: \(expected)") == true, "\(mistakes)")
  }
}
