import Domain
import Testing

@testable import Doors

/// Publishers found by what their doors' callers show.
struct PublishersTests {
  private static func hash(_ byte: UInt8) -> [UInt8] { Array(repeating: byte, count: 32) }

  private static func publisher(_ id: PublisherId, _ doors: OpenDoors = OpenDoors()) -> Publisher {
    Publisher(
      id: id, customers: .open, tokenHashes: [hash(UInt8(id.number))], customerTokens: nil, apps: [],
      offers: OfferCatalog([]),
      doors: doors, webhooks: [])
  }

  private let publishers = Publishers([
    publisher(
      9,
      OpenDoors(
        iaptic: IapticDoor(appName: "Nine", apiKeyHashes: [hash(90), hash(91)], secretKeyHashes: [hash(92)]),
        mbaasy: MbaasyDoor(clientTokens: [
          .init(hash: hash(93), bundleId: "com.nine"), .init(hash: hash(94), bundleId: "com.nine.kids"),
        ]))),
    publisher(8, OpenDoors(iaptic: IapticDoor(appName: "Kids", apiKeyHashes: [hash(80), hash(90)]))),
    publisher(7),
  ])

  @Test func byTokens() {
    #expect(publishers.all.map(\.id) == [7, 8, 9])
    let found = publishers.holder(ofTokenHash: Self.hash(8), now: 0).found
    #expect(found?.publisher.id == 8 && found?.token == PublisherToken(unnamed: Self.hash(8)))
    #expect(publishers.holder(ofTokenHash: Self.hash(90), now: 0).found == nil)
  }

  @Test func `a publisher's tokens are those without a name, each once, and those with one`() {
    let named = PublisherToken(name: "shop", hash: Self.hash(3), scopes: [.read])
    let publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [Self.hash(1), Self.hash(2), Self.hash(1)], tokens: [named],
      customerTokens: nil, apps: [], offers: OfferCatalog([]), webhooks: [])
    #expect(publisher.tokens.map(\.name) == ["token-01010101", "token-02020202", "shop"])
    #expect(publisher.tokens[0].scopes == Set(TokenScope.allCases))
    let found = Publishers([publisher]).holder(ofTokenHash: Self.hash(3), now: 0).found
    #expect(found?.token == named)
  }

  @Test(arguments: [
    ("a", true), ("A.b_c-9", true), (String(repeating: "x", count: 64), true), ("", false), ("a b", false),
    ("a:b", false), ("é", false), ("\u{212A}", false), (String(repeating: "x", count: 65), false),
  ])
  func namesOfTokens(text: String, isName: Bool) {
    #expect(PublisherToken.isName(text) == isName)
  }

  @Test func byNameAndKey() {
    func holder(_ name: String, _ byte: UInt8, isSecret: Bool = false) -> PublisherId? {
      publishers.holder(
        ofHash: Self.hash(byte), at: .iaptic, ring: IapticDoor.ring(of: name, isSecret: isSecret), now: 0
      ).found?.publisher.id
    }
    #expect(holder("Nine", 90) == 9 && holder("Nine", 91) == 9 && holder("Kids", 80) == 8)
    #expect(holder("Kids", 90) == 8, "two publishers may happen to have one key")
    #expect(holder("Nine", 80) == nil && holder("Other", 90) == nil && holder("", 90) == nil)
    #expect(holder("Nine", 92, isSecret: true) == 9)
    #expect(holder("Nine", 92) == nil && holder("Nine", 90, isSecret: true) == nil, "each key has one use")
    #expect(holder("\u{212A}ids", 80) == nil, "names are their bytes")
  }

  @Test func byClientTokens() {
    let found = publishers.holder(ofHash: Self.hash(94), at: .mbaasy, now: 0).found
    #expect(found?.publisher.id == 9 && found?.holder == "com.nine.kids")
    #expect(publishers.holder(ofHash: Self.hash(93), at: .mbaasy, now: 0).found?.holder == "com.nine")
    #expect(publishers.holder(ofHash: Self.hash(90), at: .mbaasy, now: 0).found == nil)
  }

  /// What a door shows must not make every entitlement be computed anew.
  @Test func rulesAreOnlyAboutAccess() {
    func rules(_ offer: Offer) -> [UInt8] {
      Publisher(
        id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([offer]),
        webhooks: []
      ).rulesSHA256
    }
    let plain = rules(Offer(id: "S1", productIds: ["a"]))
    #expect(
      rules(
        Offer(
          id: "S1", productIds: ["a"], tags: ["x"], displayName: "N", itemClass: "c", catalogVersion: "5",
          price: Offer.Price(amount: 1, currency: "USD"), coupons: ["C"])) == plain)
    #expect(rules(Offer(id: "S1", productIds: ["a"], accessDays: 1)) != plain)
  }
}
