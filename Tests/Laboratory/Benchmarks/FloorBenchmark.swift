import AMQP
import Coordination
import Domain
import EventLoop
import Glibc
import Ledger
import Messaging
import Postgres

/// A worker without Apple and without cryptography: the same messages, confirms, acknowledgements, Redis commands and
/// commits of the ledger.
@LoopActor
struct FloorBenchmark {
  let backend: Backend
  private let evidence = BenchmarkEvidence()
  private let ledger: PostgresClient
  private let commits: Commits
  /// As many as a worker has by default.
  private static let connections = 2

  init(backend: Backend) throws {
    self.backend = backend
    var endpoint = try PostgresEndpoint(url: backend.place.ledger, password: nil, caFile: nil)
    endpoint.applicationName = "countersign floor"
    endpoint.sessionSettings = Commits.sessionSettings
    ledger = PostgresClient(endpoint, connections: Self.connections)
    let growth = Growth(TableStatistics(ledger))
    // The publisher's file names a webhook endpoint, as the configuration of `ops/bench` does.
    commits = Commits(
      ledger,
      Commits.Settings(
        connections: Self.connections, now: { unixMilliseconds() }, audience: { [Backend.publisher] },
        onCommit: growth.add))
  }

  /// Prints a line when the measurement begins and when it ends, for the caller's own measurements.
  ///
  /// - Parameter first: so many jobs do not count, because what a process does only once is no job's cost.
  func run(count: Int, first: Int, prefetch: Int) async throws -> [String: Double] {
    try await backend.open()
    ledger.start()
    for _ in 0..<500 where !ledger.isReady { try await EventLoop.sleep(for: .milliseconds(20)) }
    if let failure = ledger.failure { throw failure }
    let done = LoopSignal()
    let unconfirmed = Unconfirmed()
    var finished = 0
    var failure: (any Error)?
    var start: Usage?
    let consumer = backend.jobs(prefetch: prefetch) { received in
      Task { @LoopActor in
        do { try await run(received, unconfirmed) } catch { failure = error }
        finished += 1
        if finished == first { start = begin() }
        if finished == first + count || failure != nil { done.notify() }
      }
    }
    if first == 0 { start = begin() }
    consumer.start()
    while finished < first + count, failure == nil {
      let before = finished
      await done.wait(atMost: .seconds(60))
      if finished == before {
        failure = Unexpected(description: "\(finished) of \(first + count) jobs came, and no more")
      }
    }
    let end = Usage()
    say("end")
    for _ in 0..<500 where unconfirmed.count > 0 { try await EventLoop.sleep(for: .milliseconds(20)) }
    await commits.flushConfirmed()
    await consumer.stop()
    await ledger.stop()
    await backend.close()
    if let failure = failure ?? unconfirmed.failure { throw failure }
    guard let start else { throw Unexpected(description: "no job came") }
    return start.until(end, jobs: count)
  }

  private func begin() -> Usage {
    say("begin")
    return Usage()
  }

  private func say(_ word: String) { _ = write(STDOUT_FILENO, word + "\n", word.utf8.count + 1) }

  private func run(_ received: AMQPConsumer.Received, _ unconfirmed: Unconfirmed) async throws {
    let (job, _) = try JobMessage.read(received.delivery, doors: DoorCatalog())
    let answer = try await backend.leases.take(
      job, for: .seconds(60), sweepAfter: Backend.sweepAfter, places: Backend.places)
    guard case .taken(let lease) = answer else { throw Unexpected(description: "\(job.synchronizationId): \(answer)") }
    let finalized = try await commits.finalize(evidence.finalization(job))
    let synchronization = finalized.synchronization
    let events = finalized.takeTold().takeEvents()
    guard synchronization.result?.accessGranted == true, !events.isEmpty else {
      throw Unexpected(description: "\(job.synchronizationId): \(synchronization)")
    }
    for event in events { publish(event, unconfirmed) }
    try await backend.leases.finalize(FinalizedJob(job: job, fence: lease.fence, route: Backend.places[0].name.text))
    received.acknowledge()
  }

  /// Publishes an event. As in a worker, its job does not wait for the confirm.
  private func publish(_ event: Event, _ unconfirmed: Unconfirmed) {
    unconfirmed.count += 1
    Task.immediate { @LoopActor in
      do {
        try await backend.publisher.publish(
          EventMessage.message(event, queue: backend.topology.deliveries), timeout: .seconds(60))
        commits.confirm([event.id])
      } catch {
        unconfirmed.failure = error
      }
      unconfirmed.count -= 1
    }
  }

  /// Lets PostgreSQL analyze the tables that have grown, as a worker does (decision 0069).
  @LoopActor
  private final class Growth {
    private let statistics: TableStatistics
    private var looks = TableStatistics.looks

    init(_ statistics: TableStatistics) { self.statistics = statistics }

    func add(_ commits: Int) {
      guard looks.add(commits) else { return }
      Task { @LoopActor in
        do { _ = try await statistics.analyzeGrownTables() } catch { print("grown tables were not analyzed: \(error)") }
      }
    }
  }

  /// The events that wait for their confirm.
  @LoopActor
  private final class Unconfirmed {
    var count = 0
    var failure: (any Error)?
  }
}
