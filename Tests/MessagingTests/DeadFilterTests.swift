import AMQP
import Crypto
import Domain
import Testing

@testable import Messaging

/// Which dead messages a person means.
struct DeadFilterTests {
  private func matches(
    _ change: (inout DeadFilter) -> Void, _ message: DeadMessage = DeadMessageTests.job(), at now: Int64 = 10_000
  ) -> Bool {
    var filter = DeadFilter()
    change(&filter)
    return filter.matches(message, at: now) { $0 == 7 ? ["com.one"] : [] }
  }

  @Test func `a filter that says nothing takes everything`() {
    #expect(DeadFilter().isEmpty)
    #expect(matches { _ in })
    #expect(matches({ _ in }, DeadMessageTests.job("")))
  }

  @Test func `cause, publisher, endpoint, id and customer are compared`() {
    #expect(matches { $0.cause = .unknown } && !matches { $0.cause = .crashed })
    #expect(matches { $0.publisher = 7 } && !matches { $0.publisher = 8 })
    #expect(matches { $0.id = "job_1" } && !matches { $0.id = "job_" })
    #expect(matches { $0.customer = "kim" } && !matches { $0.customer = "tim" })
    let delivery = DeadMessageTests.delivery(headers: ["countersign-endpoint": "ep_1"])
    #expect(matches({ $0.endpoint = "ep_1" }, delivery) && !matches({ $0.endpoint = "ep_2" }, delivery))
    #expect(!matches { $0.endpoint = "ep_1" })
    #expect(!matches { ($0.publisher, $0.cause) = (7, .crashed) })
  }

  @Test func `a message is as old as its burial, or else as what it tells`() {
    #expect(matches { $0.olderThan = .seconds(9) })
    #expect(!matches { $0.olderThan = .seconds(10) })
    let buried = DeadMessageTests.job(DeadMessageTests.good, ["countersign-buried": 9000])
    #expect(matches({ $0.olderThan = .seconds(1) }, buried) && !matches({ $0.olderThan = .seconds(2) }, buried))
    // A clock that is ahead, and a message without any time.
    #expect(matches({ $0.olderThan = .zero }, buried, at: 0))
    #expect(!matches({ $0.olderThan = .seconds(1) }, buried, at: .min))
    #expect(!matches({ $0.olderThan = .zero }, DeadMessageTests.job("{}")))
  }

  @Test func `who saw a count means no message that came later`() {
    // Its job was registered at 1000.
    #expect(matches { $0.buriedUntil = 1000 } && !matches { $0.buriedUntil = 999 })
    let buried = DeadMessageTests.job(DeadMessageTests.good, ["countersign-buried": 9000])
    #expect(matches({ $0.buriedUntil = 9000 }, buried) && !matches({ $0.buriedUntil = 8999 }, buried))
    // Nobody can say how old it is: the count alone bounds it.
    #expect(matches({ $0.buriedUntil = 0 }, DeadMessageTests.job("{}")))
  }

  @Test func `an app is the one that the message names, or one of its publisher's`() {
    #expect(matches { $0.app = "com.one" } && !matches { $0.app = "com.two" })
    let named = DeadMessageTests.delivery(data: #"{"purchase":{"bundleId":"com.two"}}"#)
    #expect(matches({ $0.app = "com.two" }, named) && !matches({ $0.app = "com.one" }, named))
    #expect(!matches({ $0.app = "com.one" }, DeadMessageTests.job("{}")))
  }

  @Test func `the audit log gets the filter without a customer's id`() {
    var filter = DeadFilter()
    #expect(filter.json == Array("{}".utf8))
    (filter.cause, filter.publisher, filter.app, filter.endpoint) = (.crashed, 7, "com.one", "ep_1")
    (filter.id, filter.customer, filter.olderThan) = ("evt_1", "kim", .seconds(90))
    filter.buriedUntil = 1_767_225_600_000
    let hash = CustomerDigest.short(of: "kim", of: 7)
    let expected = """
      {"app":"com.one","buriedUntil":"2026-01-01T00:00:00.000Z","cause":"crashed","customer":"\(hash)","endpoint":"ep_1","id":"evt_1","olderThanSeconds":90,\
      "publisher":7}
      """
    #expect(String(decoding: filter.json, as: UTF8.self) == expected)
  }
}
