import Domain
import Testing

@testable import Coordination

/// Which jobs a person means who names a cause, a publisher, an app or an age.
struct JobFilterTests {
  private func open(
    _ status: Synchronization.Status = .retrying, _ cause: RetryCause? = .appleError, place: PlaceName? = nil,
    publisher: PublisherId = 1, registeredAt: Int64 = 0
  ) -> OpenJob {
    OpenJob(
      job: Job(
        synchronizationId: "s", publisherId: publisher, customerId: "7", transactionId: "100",
        registeredAt: registeredAt), status: status, cause: cause, place: place, member: "1:s")
  }

  private func matches(_ open: OpenJob) -> Bool { matches({ _ in }, open) }

  private func matches(_ change: (inout JobFilter) -> Void, _ open: OpenJob, at now: Int64 = 0) -> Bool {
    var filter = JobFilter()
    change(&filter)
    return filter.matches(open, at: now) { $0 == 1 ? ["com.one", "com.two"] : [] }
  }

  @Test func `who saw a count means no job that came later`() {
    #expect(matches({ $0.registeredUntil = 5 }, open(registeredAt: 5)))
    #expect(!matches({ $0.registeredUntil = 4 }, open(registeredAt: 5)))
    var filter = JobFilter()
    #expect(filter.json == Array("{}".utf8))
    (filter.cause, filter.publisher, filter.registeredUntil) = (.unauthorized, 7, 1_767_225_600_000)
    let expected = #"{"cause":"unauthorized","publisher":7,"registeredUntil":"2026-01-01T00:00:00.000Z"}"#
    #expect(String(decoding: filter.json, as: UTF8.self) == expected)
  }

  @Test func `only what is retrying waits for a next attempt`() {
    #expect(matches(open(.retrying)))
    #expect(!matches(open(.processing)))
    #expect(!matches(open(.finalized)))
  }

  @Test func `a cause and a publisher are compared`() {
    #expect(matches({ $0.cause = .appleError }, open()))
    #expect(!matches({ $0.cause = .timeout }, open()))
    #expect(!matches({ $0.cause = .timeout }, open(.retrying, nil)))
    #expect(matches({ $0.publisher = 1 }, open()))
    #expect(!matches({ $0.publisher = 2 }, open()))
    #expect(matches({ $0.synchronization = "s" }, open()))
    #expect(!matches({ $0.synchronization = "S" }, open()))
  }

  @Test func `an app is that of the job's place, or one of the publisher's while nobody knows`() {
    #expect(matches({ $0.app = "com.two" }, open(place: "com.two|Production")))
    #expect(!matches({ $0.app = "com.one" }, open(place: "com.two|Production")))
    #expect(!matches({ $0.app = "com.tw" }, open(place: "com.two|Production")))
    #expect(matches({ $0.app = "com.one" }, open()))
    #expect(matches({ $0.app = "com.one" }, open(place: "")))
    #expect(!matches({ $0.app = "com.three" }, open()))
    #expect(!matches({ $0.app = "com.one" }, open(publisher: 2)))
  }

  @Test func `an age is at least so long, also with times that are far away`() {
    #expect(matches({ $0.olderThan = .seconds(1) }, open(), at: 1000))
    #expect(!matches({ $0.olderThan = .seconds(1) }, open(), at: 999))
    #expect(matches({ $0.olderThan = .zero }, open(registeredAt: 5), at: 0))
    #expect(!matches({ $0.olderThan = .zero }, open(registeredAt: .min), at: .max))
  }
}
