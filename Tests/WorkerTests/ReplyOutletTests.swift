import Domain
import EventLoop
import Ledger
import Service
import Testing

@testable import Worker

/// The replies that a worker sends to gateways.
@LoopActor
struct ReplyOutletTests {
  private let bench: JobRunBench
  private var replies: ReplyOutlet { bench.dependencies.replies }
  private let result = SynchronizationResult(.purchaseSynchronized, accessGranted: true, offerId: "S1")

  init() async throws { bench = try JobRunBench() }

  private func job(replyTo queue: String?) -> Job {
    Job(
      synchronizationId: "s", publisherId: 1, customerId: "7", transactionId: "1", replyTo: queue, registeredAt: 1)
  }

  @Test func `only a job that names a queue has a reply, and only with a result`() async throws {
    replies.reply(to: job(replyTo: nil), result)
    replies.reply(to: job(replyTo: "g"), nil)
    #expect(bench.broker.messages.isEmpty)
    replies.reply(to: job(replyTo: "g"), result)
    #expect(bench.broker.messages.count == 1)
    #expect(replies.underWay == 0)
  }

  @Test func `a broker that confirms nothing does not fill the memory, nor keep events back`() async throws {
    bench.broker.holdsConfirms = true
    for _ in 0..<ReplyOutlet.most + 2 { replies.reply(to: job(replyTo: "g"), result) }
    #expect(bench.broker.messages.count == ReplyOutlet.most)
    bench.dependencies.outlet.publish(
      Told([Event(id: "evt_1", publisherId: 1, customerId: "7", topic: "t", time: 1, body: [])]))
    #expect(bench.broker.messages.count == ReplyOutlet.most + 1)
    bench.broker.confirmAll()
    #expect(replies.underWay == 0)
  }
}
