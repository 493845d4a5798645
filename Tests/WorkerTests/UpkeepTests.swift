import AMQP
import Domain
import EventLoop
import Ledger
import Messaging
import Observability
import Service
import TestSupport
import Testing

@testable import Worker

/// One look of each chore that repairs, deletes or counts.
@LoopActor
struct UpkeepTests {
  private struct Away: Error {}

  private final class Trace {
    var lines: [String] = []
  }

  private let trace = Trace()
  private let log = Log(level: .error)

  // MARK: The outbox

  private func outbox(_ events: Result<[Event], Away>, isBrokerReady: Bool = true) -> OutboxLook {
    OutboxLook(
      flush: { [trace] in trace.lines.append("flush") }, isBrokerReady: { isBrokerReady },
      takeOverdue: { [trace] in
        trace.lines.append("take")
        return Told(try events.get())
      }, publish: { [trace] in trace.lines += $0.takeEvents().map { "publish \($0.id)" } }, log: log)
  }

  @Test func `what nobody has published is published, after the confirmed events have left`() async {
    #expect(await outbox(.success([ChoreBench.event("a"), ChoreBench.event("b")])).run() == 2)
    #expect(trace.lines == ["flush", "take", "publish a", "publish b"])
  }

  @Test func `an idle outbox publishes nothing`() async {
    #expect(await outbox(.success([])).run() == 0)
    #expect(trace.lines == ["flush", "take"])
  }

  @Test func `without a broker nothing is taken, and without a ledger nothing is published`() async {
    #expect(await outbox(.success([ChoreBench.event("a")]), isBrokerReady: false).run() == 0)
    #expect(trace.lines == ["flush"])
    #expect(await outbox(.failure(Away())).run() == 0)
    #expect(trace.lines == ["flush", "flush", "take"])
  }

  // MARK: The ledger's sweep

  private func sweep(_ jobs: Result<[Job], Away>, refuses: Bool = false) -> LedgerSweep {
    LedgerSweep(
      takeOverdue: { try jobs.get() },
      publish: { [trace] message in
        if refuses { throw Away() }
        trace.lines.append(message.routingKey)
      }, topology: Topology(prefix: "cs"), log: log)
  }

  @Test func `jobs whose time was long ago are enqueued again`() async {
    let job = JobRunBench.job
    #expect(await sweep(.success([job, job])).run() == 2)
    #expect(trace.lines == ["cs.jobs", "cs.jobs"])
    #expect(await sweep(.success([job]), refuses: true).run() == 0)
    #expect(await sweep(.failure(Away())).run() == 0)
    #expect(trace.lines.count == 2)
  }

  // MARK: Retention, rules, what is put aside

  @Test func `old notifications are counted when old rows could be deleted`() async {
    func look(_ isAway: Bool) -> RetentionLook {
      RetentionLook(
        deleteOldest: { [trace] in
          trace.lines.append("oldest")
          if isAway { throw Away() }
        },
        deleteNotifications: { [trace] in
          trace.lines.append("notifications")
          return 3
        }, deleteImports: { [trace] in trace.lines.append("imports") }, log: log)
    }
    #expect(await look(false).run() == 3)
    #expect(await look(true).run() == 0)
    #expect(trace.lines == ["oldest", "imports", "notifications", "oldest"])
  }

  @Test func `the events of a batch of changed rules are published, also if a later batch fails`() async {
    await RulesLook(
      evaluate: { publish in
        publish(Told([ChoreBench.event("a")]))
        throw Away()
      }, publish: { [trace] in trace.lines += $0.takeEvents().map(\.id.text) }, log: log
    ).run()
    #expect(trace.lines == ["a"])
  }

  @Test func `tables that have grown are counted, and a ledger that is away is not`() async {
    let metrics = Metrics()
    let analyzed = metrics.counter("analyzed", "")
    for answer: Result<[String], Away> in [.success(["purchases", "events"]), .success([]), .failure(Away())] {
      await StatisticsLook(analyzeGrownTables: { try answer.get() }, analyzed: analyzed, log: log).run()
    }
    #expect(metrics.text().contains("analyzed 2\n"))
  }

  @Test func `grown tables are looked for each time that the worker has committed twice as much`() async throws {
    let committed = Followers<Int>()
    let chore = StatisticsLook(
      analyzeGrownTables: { [trace] in
        trace.lines.append("look")
        return []
      }, analyzed: Metrics().counter("analyzed", ""), log: log
    ).chore(every: .seconds(3600), isReady: { true }, committed: committed)
    chore.start()
    committed.tell(249)
    #expect(trace.lines.isEmpty)
    committed.tell(1)
    try await eventually("it has looked") { trace.lines.count == 1 }
    committed.tell(250)
    try await eventually("it has looked again") { trace.lines.count == 2 }
    committed.tell(499)
    await chore.stop(within: .seconds(120))
    #expect(trace.lines == ["look", "look"])
  }

  @Test func `one count that fails does not stop the other`() async {
    func look(_ jobs: Result<Int?, Away>, _ notifications: Result<Int?, Away>) async -> AsideLook.Counts {
      await AsideLook(deadJobs: { try jobs.get() }, notifications: { try notifications.get() }, log: log).run()
    }
    #expect(await look(.success(2), .success(3)) == AsideLook.Counts(deadJobs: 2, notifications: 3))
    #expect(await look(.failure(Away()), .success(3)) == AsideLook.Counts(deadJobs: nil, notifications: 3))
    #expect(await look(.success(nil), .failure(Away())) == AsideLook.Counts())
  }
}
