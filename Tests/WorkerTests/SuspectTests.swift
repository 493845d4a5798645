import AMQP
import Coordination
import Domain
import EventLoop
import Messaging
import Testing

@testable import Service
@testable import Worker

/// Jobs whose earlier runs did not end.
@LoopActor
struct SuspectTests {
  private let bench: JobRunBench

  init() async throws { bench = try JobRunBench() }

  private func lease(crashes: Int) -> Lease { Lease(fence: 5, route: "a|b", crashes: crashes) }

  @Test func `after one crash a job runs as any other`() async {
    bench.leases.answers = [.success(.taken(lease(crashes: 1)))]
    bench.attempts = [JobRunBench.attempt()]
    await bench.run(wasRedelivered: true)
    #expect(bench.leases.askedForLease == [true])
    #expect(bench.leases.released.isEmpty)
    #expect(bench.ledger.results == [JobRunBench.granted])
  }

  @Test(arguments: 2...5) func `a suspect gives its lease back, and runs alone with a new one`(crashes: Int) async {
    bench.leases.answers = [.success(.taken(lease(crashes: crashes)))]
    bench.attempts = [JobRunBench.attempt()]
    let delivery = await bench.run(wasRedelivered: true)
    #expect(bench.leases.askedForLease == [true, true])
    #expect(bench.leases.released == [.init(isRetrying: false, isRun: false, sweepAfter: .seconds(120))])
    #expect(bench.ledger.results == [JobRunBench.granted])
    #expect(delivery.fate == .acknowledged)
    // No run waits for it any more.
    #expect(bench.dependencies.suspects.enterAtOnce())
  }

  @Test func `a suspect whose lease another run took meanwhile lets the others run`() async {
    bench.leases.answers = [.success(.taken(lease(crashes: 2))), .success(.busy(.seconds(15)))]
    let delivery = await bench.run(wasRedelivered: true)
    #expect(bench.broker.queues == ["cs.jobs.delay.10000"])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.asked == 0)
    #expect(bench.dependencies.suspects.enterAtOnce())
  }

  @Test func `of two suspects the second one waits in a queue`() async {
    // After five crashes a hold has no limit, which a busy machine could reach.
    bench.leases.answers = [.success(.taken(lease(crashes: 5)))]
    bench.attempts = [JobRunBench.attempt()]
    bench.leases.holdsNextLease = true
    let second = Task.immediate { @LoopActor in await bench.run(attempt: 2, wasRedelivered: true) }
    // The first run waits for the second, which does not know yet that it is a suspect.
    let first = Task.immediate { @LoopActor in await bench.run(wasRedelivered: true) }
    #expect(bench.asked == 0)
    bench.leases.letGo()
    #expect(await first.value.fate == .acknowledged)
    #expect(await second.value.fate == .acknowledged)
    #expect(bench.asked == 1)
    #expect(bench.ledger.results == [JobRunBench.granted])
    // Which of the two comes first hangs on the loop, which all tests share.
    #expect(bench.broker.queues.sorted() == ["cs.jobs.delay.5000", "cs.notifier", "cs.notifier"])
    let delayed = bench.broker.messages.first { $0.routingKey == "cs.jobs.delay.5000" }
    #expect(delayed?.headers["countersign-attempt"] == 2)
    #expect(bench.count("countersign_job_retries_total", #"{cause="suspect"}"#) == 1)
    #expect(bench.dependencies.suspects.enterAtOnce())
  }

  @Test func `six crashes in a row end a job: a copy for a person, and a result for the customer`() async {
    bench.leases.answers = [.success(.taken(lease(crashes: 6)))]
    let delivery = await bench.run(wasRedelivered: true)
    #expect(bench.asked == 0)
    #expect(bench.broker.queues == ["cs.jobs.dead", "cs.notifier"])
    #expect(
      bench.broker.messages.first?.headers["countersign-reason"]
        == "6 runs in a row did not end: it seems to kill its worker")
    #expect(bench.ledger.results == [SynchronizationResult(.internalError)])
    #expect(bench.leases.finalized.map(\.route) == ["a|b"])
    #expect(bench.count("countersign_dead_jobs_total") == 1)
    #expect(delivery.fate == .acknowledged)
  }

  // MARK: Which runs may go on

  @Test func `a suspect waits for the others, and then they wait for it`() async throws {
    let suspects = Suspects()
    #expect(suspects.enterAtOnce())
    #expect(suspects.enterAtOnce())
    var events: [String] = []
    let alone = Task.immediate { @LoopActor in
      let place = await suspects.enterAlone(crashes: 5)
      events.append("alone \(place != nil)")
      return place
    }
    #expect(!suspects.enterAtOnce())
    #expect(await suspects.enterAlone(crashes: 5) == nil)
    let other = Task.immediate { @LoopActor in
      await suspects.enter()
      events.append("other")
    }
    suspects.leave()
    await Task.yield()
    #expect(events.isEmpty)
    suspects.leave()
    let place = try #require(await alone.value)
    #expect(events == ["alone true"])
    suspects.leaveAlone(place)
    await other.value
    #expect(events == ["alone true", "other"])
    #expect(suspects.enterAtOnce())
  }

  @Test func `with nobody there a suspect runs at once`() async throws {
    let suspects = Suspects()
    let place = try #require(await suspects.enterAlone(crashes: 2))
    #expect(!suspects.enterAtOnce())
    suspects.leaveAlone(place)
    #expect(suspects.enterAtOnce())
  }

  @Test func `when its hold is over, a suspect goes on beside the others`() async throws {
    let suspects = Suspects()
    let place = try #require(await suspects.enterAlone(crashes: 2))
    let other = Task.immediate { @LoopActor in await suspects.enter() }
    suspects.endHold()
    await other.value
    #expect(suspects.enterAtOnce())
    suspects.leaveAlone(place)
    suspects.leave()
    suspects.leave()
  }

  @Test func `when its hold is over, a suspect begins although others have not ended`() async throws {
    let suspects = Suspects()
    #expect(suspects.enterAtOnce())
    let alone = Task.immediate { @LoopActor in await suspects.enterAlone(crashes: 2) }
    suspects.endHold()
    let place = try #require(await alone.value)
    #expect(suspects.enterAtOnce())
    suspects.leaveAlone(place)
  }
}
