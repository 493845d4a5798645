import Testing

@testable import Domain

/// Which events leave the fleet.
struct EventTellingTests {
  private let now: Int64 = 1_700_000_000_000

  private func publisher(_ id: PublisherId, _ mode: Publisher.Mode) -> Publisher {
    Publisher(
      id: id, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([]), mode: mode,
      webhooks: [])
  }

  private func telling(of id: PublisherId, since time: Int64?) -> EventTelling {
    let broken = BrokenPublisher(file: "3.json", id: 3, mistakes: ["x"], hidesCallers: false)
    return Publishers([publisher(1, .live), publisher(2, .shadow)], broken: [broken])
      .telling(of: id, since: time, now: now, settling: .seconds(60))
  }

  @Test func `a live publisher's events are told, and so are those of nobody's file`() {
    for time in [nil, now, now - 86_400_000, now + 86_400_000] {
      #expect(telling(of: 1, since: time) == .told)
      #expect(telling(of: 4, since: time) == .told)
    }
  }

  @Test func `in shadow mode an event is kept once every role has read the file`() {
    #expect(telling(of: 2, since: now) == .waits(.seconds(60)))
    #expect(telling(of: 2, since: now - 59_999) == .waits(.milliseconds(1)))
    #expect(telling(of: 2, since: now - 60_000) == .kept)
    #expect(telling(of: 2, since: nil) == .kept)
  }

  @Test func `a clock that is ahead lets an event wait no longer than files take`() {
    #expect(telling(of: 2, since: now + 1000) == .waits(.seconds(60)))
    #expect(telling(of: 2, since: now + 60_001) == .kept)
    for time in [Int64.min, .max] { #expect(telling(of: 2, since: time) == .kept) }
  }

  @Test func `while a file has a mistake nobody knows the mode`() {
    #expect(telling(of: 3, since: nil) == .waits(.seconds(30)))
  }

  @Test func `what a person asks for and Apple's notifications do not follow the mode`() throws {
    func delivery(_ topic: EventTopic, round: DeliveryRound = .first) throws -> Delivery {
      try Delivery(
        eventId: "evt_1", endpointId: "e", round: round, headers: [:],
        body: Array(#"{"broadcasterId":2,"topic":"\#(topic)","data":{}}"#.utf8))
    }
    #expect(try delivery(EventTopic.entitlementsChanged).followsMode)
    #expect(try !delivery(EventTopic.entitlementsChanged, round: Delivery.roundOfRecovery(givenUpAt: 1)).followsMode)
    #expect(try !delivery(EventTopic.test).followsMode)
    let key = NotificationKey(publisherId: 2, uuid: "00000000-0000-0000-0000-000000000000")
    let forwarded = try #require(Delivery(key, to: "fwd"))
    #expect(!forwarded.followsMode)
  }
}
