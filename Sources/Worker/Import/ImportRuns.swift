import Configuration
import Coordination
import Crypto
import Domain
import EventLoop
import Import
import Ledger
import Observability
import Service

/// A run of an import that a worker has taken.
@LoopActor
protocol TakenImport: AnyObject {
  /// Runs to an end.
  func run() async -> UploadedImportRun.Ending
  /// Lets the run end soon: the role stops.
  func close()
}

/// Runs the imports that publishers have uploaded over HTTP: takes those that are due from the ledger, and lets each
/// run beside the worker's jobs.
@LoopActor
final class ImportRuns: RoleService {
  /// What the looks work with.
  @LoopActor
  struct Dependencies {
    let context: RoleContext
    /// Takes a due import of some publishers out of the ledger, for a run with a name.
    let takeDue: @LoopActor ([PublisherId], String) async throws -> UploadedImport?
    /// Makes the run of an import.
    let make: @LoopActor (UploadedImport, String, Publisher) throws -> any TakenImport
    /// Whether the servers can be asked.
    let isReady: @LoopActor () -> Bool
  }

  private static let interval = Duration.seconds(2)
  /// The most imports that one worker runs at once: each keeps its rows in memory.
  static let mostAtOnce = 2

  private let dependencies: Dependencies
  private let ended: Counter
  private let runs = RunningTasks()
  private var running: [ObjectIdentifier: any TakenImport] = [:]
  private lazy var looks = Chore(
    every: Self.interval,
    isReady: { [weak self] in
      self.map { $0.runs.count < Self.mostAtOnce && $0.dependencies.isReady() } ?? false
    }, look: { [weak self] in await self?.take() })

  init(_ dependencies: Dependencies) {
    self.dependencies = dependencies
    let (metrics, runs) = (dependencies.context.metrics, runs)
    ended = metrics.counter(
      "countersign_import_runs_total", "Runs of imports over HTTP that have ended.", labels: ["outcome"],
      known: UploadedImportRun.Ending.allCases.map { [$0.rawValue] })
    metrics.gauge("countersign_imports_running", "Imports over HTTP that this worker runs now.") {
      Double(runs.count)
    }
  }

  func start() { looks.start() }

  /// The runs end soon, and give their imports back.
  func close() {
    looks.close()
    runs.close()
    for run in running.values { run.close() }
  }

  func stop(within grace: Duration) async {
    close()
    await runs.finish(within: grace, after: looks)
  }

  /// Takes what is due now.
  func take() async {
    let context = dependencies.context
    do {
      while runs.count < Self.mostAtOnce, !runs.isClosed {
        let name = Hex.encode(try secureRandomBytes(16))
        guard let due = try await dependencies.takeDue(context.publishers.all.map(\.id), name) else { return }
        guard !runs.isClosed, let publisher = context.publishers[due.publisherId] else { return }
        begin(try dependencies.make(due, name, publisher), due)
      }
    } catch {
      context.log.ledgerFailure("due imports could not be taken", error)
    }
  }

  private func begin(_ run: any TakenImport, _ due: UploadedImport) {
    running[ObjectIdentifier(run)] = run
    runs.start { [self] in
      let ending = await run.run()
      running[ObjectIdentifier(run)] = nil
      ended.count(ending.rawValue)
      dependencies.context.log.info(
        "a run of an import ended",
        [
          "publisherId": .int(due.publisherId.number), "importId": .string(due.id.text),
          "outcome": .string(ending.rawValue),
        ])
    }
  }
}

extension ImportRuns.Dependencies {
  /// Those of a worker.
  ///
  /// - Parameter verifier: makes the verifier of a publisher's signed texts.
  init(_ parts: WorkerParts, verifier: @escaping @LoopActor (Publisher) throws -> any ImportVerifier) {
    let (context, ledger, redis) = (parts.context, parts.ledger, parts.redis)
    let run = UploadedImportRun.Dependencies(
      context: context, claims: TransactionClaims(redis.client, prefix: context.settings.redis.prefix),
      queue: parts.publisher, topology: parts.topology, verifier: verifier, rows: parts.rows,
      publish: { [outlet = parts.outlet] in outlet.publish($0) })
    let work = ImportWork(ledger.postgres)
    self.init(
      context: context, takeDue: { try await work.takeDue(of: $0, as: $1) },
      make: { try UploadedImportRun($0, as: $1, $2, run) }, isReady: { ledger.isReady })
  }
}
