import Configuration
import Domain
import EventLoop
import Testing

@testable import Worker

/// The leases of the runs in hand.
@LoopActor
struct HeldLeasesTests {
  @Test func `what is held is renewed, a hundred in one script, and what is let go of is not`() async throws {
    let bench = try JobRunBench()
    let runs = try (0..<250).map { number in
      let job = Job(
        synchronizationId: "\(number)", publisherId: 1, customerId: "7", transactionId: "100", registeredAt: 1)
      return try JobRun(JobRunBench.delivery(of: job), with: bench.dependencies)
    }
    for run in runs { bench.dependencies.heldLeases.hold(run) }
    bench.dependencies.heldLeases.renewAll()
    #expect(bench.leases.renewals == [100, 100, 50])
    #expect(Set(bench.leases.renewed) == Set(runs.map(\.job.synchronizationId)))

    for run in runs.dropFirst() { bench.dependencies.heldLeases.letGo(run) }
    bench.dependencies.heldLeases.renewAll()
    #expect(bench.leases.renewals == [100, 100, 50, 1])
    #expect(bench.leases.renewed.last == "0")
  }

  @Test func `a renewed lease lasts longer by the run's own clock, and one that is lost does not`() async throws {
    let bench = try JobRunBench()
    bench.leases.lost = ["lost"]
    let runs = try ["kept", "lost"].map { id in
      let job = Job(
        synchronizationId: SynchronizationId(id), publisherId: 1, customerId: "7", transactionId: "100", registeredAt: 1
      )
      return try JobRun(JobRunBench.delivery(of: job), with: bench.dependencies)
    }
    let ends = runs.map(\.leaseEnd)
    for run in runs { bench.dependencies.heldLeases.hold(run) }
    bench.dependencies.heldLeases.renewAll()
    #expect(runs[0].leaseEnd >= ends[0] + bench.dependencies.settings.leaseDuration)
    #expect(runs[1].leaseEnd == ends[1])
  }

  @Test func `a run holds its lease while it asks Apple, and neither before nor after`() async throws {
    let bench = try JobRunBench()
    bench.attempts = [JobRunBench.attempt()]
    bench.whileAsking = { _ in
      bench.dependencies.heldLeases.renewAll()
      #expect(bench.leases.renewed == ["s"])
    }
    await bench.run()
    #expect(bench.asked == 1)
    bench.dependencies.heldLeases.renewAll()
    #expect(bench.leases.renewed == ["s"])
  }
}
