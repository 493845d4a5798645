import Coordination
import Domain
import EventLoop
import Messaging
import Observability
import Redis
import Testing

@testable import AMQP
@testable import Worker

/// How the sweep treats the synchronizations in Redis.
@LoopActor
struct SweepTests {
  /// The questions and the messages of a sweep.
  private final class Trace {
    var overdue: [Duration] = []
    var published: [AMQPMessage] = []
  }

  private let trace = Trace()

  private func job(_ id: SynchronizationId, run: Int64 = 1, isHurried: Bool = false, lane: JobLane = .usual) -> DueJob {
    let job = Job(
      synchronizationId: id, publisherId: 1, customerId: "7", transactionId: "100", lane: lane, registeredAt: 1)
    return DueJob(job, run: run, isHurried: isHurried)
  }

  private func sweep(
    _ due: Result<DueJobs, RedisError>, waiting: Result<Int, AMQPError> = .success(0), refusesFrom limit: Int = .max,
    lane: JobLane = .usual
  ) -> Sweep {
    Sweep(
      dueJobs: { [trace] overdue in
        trace.overdue.append(overdue)
        return try due.get()
      },
      waiting: { try waiting.get() },
      publish: { [trace] message in
        if trace.published.count >= limit { throw Self.noConfirm }
        trace.published.append(message)
      }, topology: Topology(prefix: "cs"), interval: .seconds(120), lane: lane,
      log: Log(level: .error))
  }

  private nonisolated static let noConfirm = AMQPError(
    .timeout, operation: "publish", target: "broker", cause: "no confirm")

  @Test func `due jobs are enqueued as first attempts`() async {
    let due = DueJobs(jobs: [job("a"), job("b", run: 4)], newer: 3, unreadable: 1)
    #expect(await sweep(.success(due)).run() == Sweep.Look(count: 2))
    #expect(trace.overdue == [.zero])
    #expect(trace.published.map(\.routingKey) == ["cs.jobs", "cs.jobs"])
    #expect(trace.published.map(\.body) == [job("a").job.encoded, job("b").job.encoded])
    #expect(
      trace.published.map(\.headers) == [
        ["countersign-attempt": 1, "countersign-run": 1], ["countersign-attempt": 1, "countersign-run": 4],
      ])
  }

  @Test func `while jobs wait in the queue only what is long overdue is enqueued`() async {
    #expect(await sweep(.success(DueJobs(jobs: [job("a")])), waiting: .success(1)).run() == Sweep.Look(count: 1))
    #expect(trace.overdue == [.seconds(1200)])
  }

  @Test func `without a broker nothing is taken out of Redis' list`() async {
    #expect(await sweep(.success(DueJobs(jobs: [job("a")])), waiting: .failure(Self.noConfirm)).run() == Sweep.Look())
    #expect(trace.overdue.isEmpty)
    #expect(trace.published.isEmpty)
  }

  @Test func `without Redis nothing is enqueued`() async {
    #expect(await sweep(.failure(LeasesByValue.unreachable)).run() == Sweep.Look())
    #expect(trace.published.isEmpty)
  }

  @Test func `what the broker did not confirm is left to the next look`() async {
    let due = DueJobs(jobs: [job("a"), job("b"), job("c")])
    #expect(await sweep(.success(due), refusesFrom: 1).run() == Sweep.Look(count: 1))
    #expect(trace.published.map(\.body) == [job("a").job.encoded])
  }

  @Test func `a sweep that meets its limit goes on before the workers have emptied the queue`() async {
    let many = DueJobs(jobs: (0..<Sweep.mostAtOnce).map { job(SynchronizationId("s\($0)")) })
    #expect(await sweep(.success(many)).run() == Sweep.Look(count: Sweep.mostAtOnce, pause: .zero))
    // The jobs that wait are its own. It pauses as soon as there are enough of them.
    for (waiting, pause) in [
      (1, .zero), (Sweep.low - Sweep.mostAtOnce - 1, .zero), (Sweep.low - Sweep.mostAtOnce, Sweep.pause),
      (Sweep.low - 1, Sweep.pause),
    ] as [(Int, Duration)] {
      let own = sweep(.success(many), waiting: .success(waiting))
      #expect(await own.run(isFilling: true) == Sweep.Look(count: Sweep.mostAtOnce, pause: pause), "\(waiting)")
    }
    #expect(trace.overdue == Array(repeating: .zero, count: 5))
    let full = sweep(.success(many), waiting: .success(Sweep.low))
    #expect(await full.run(isFilling: true) == Sweep.Look(pause: Sweep.pause))
    #expect(trace.overdue.count == 5)
    #expect(await sweep(.success(DueJobs(jobs: [job("a")]))).run(isFilling: true) == Sweep.Look(count: 1))
  }

  @Test func `a broker that takes nothing ends the filling`() async {
    let many = DueJobs(jobs: (0..<Sweep.mostAtOnce).map { job(SynchronizationId("s\($0)")) })
    #expect(await sweep(.success(many), refusesFrom: 0).run(isFilling: true) == Sweep.Look())
  }

  @Test func `a job in bulk goes back into its own queue, where a day is not long`() async {
    let due = DueJobs(jobs: [job("b", lane: .bulk)])
    #expect(await sweep(.success(due), waiting: .success(1), lane: .bulk).run().count == 1)
    #expect(trace.published.map(\.routingKey) == ["cs.jobs.bulk"])
    #expect(trace.overdue == [.seconds(86_400)])
  }

  @Test func `jobs that cannot be read do not end the filling`() async {
    var many = DueJobs(jobs: (1..<Sweep.mostAtOnce).map { job(SynchronizationId("s\($0)")) })
    many.unreadable = 1
    #expect(await sweep(.success(many)).run().pause == Duration.zero)
  }

  @Test func `jobs that a person hurries are no repair`() async {
    let due = DueJobs(jobs: [job("a", isHurried: true), job("b"), job("c", isHurried: true)])
    #expect(await sweep(.success(due)).run() == Sweep.Look(count: 1, hurried: 2))
    #expect(trace.published.count == 3)
  }
}
