import Configuration
import Domain
import EventLoop
import HTTPServer
import Ledger
import Observability
import Postgres
import Service

/// The exports that run at a gateway.
///
/// Each has a connection to PostgreSQL of its own, because its transaction is open until the client has read the end.
/// It reads a page when the client has read the one before. So it holds one page, and a slow client slows it down.
@LoopActor
final class PublisherExports: RoleService {
  /// The most exports at a time, one of each publisher.
  nonisolated static let most = 2
  /// The longest that an export may hold its moment: PostgreSQL cleans up nothing that has changed since.
  nonisolated static let longest = Duration.seconds(3600)

  private let context: RoleContext
  private var places = PublisherLimit(most: PublisherExports.most)
  private var runs: [ObjectIdentifier: ExportRun] = [:]
  private let running = RunningTasks()

  /// How many exports run now.
  var count: Int { places.count }

  init(_ context: RoleContext) { self.context = context }

  /// Takes a place for an export, which ``run(_:after:onEnd:)`` gives back; `false` when there is none.
  func begin(of publisher: PublisherId) -> Bool { !running.isClosed && places.begin(of: publisher) }

  /// Starts an export that has a place, and returns its lines as soon as the first one is there.
  ///
  /// - Parameters:
  ///   - soFar: what the client has already.
  ///   - onEnd: learns how an export ends that had begun.
  /// - Throws: what has kept the export from its first line: `ExportRefused`, `PostgresError`, `UnreadableRecord`.
  func run(
    _ publisher: Publisher, after soFar: ExportedSoFar?, onEnd: @escaping @LoopActor (ExportRun.Ending) -> Void
  ) async throws -> AnswerStream {
    let run: ExportRun
    do {
      run = ExportRun(
        try PostgresEndpoint(export: context.settings.ledger, name: "countersign \(context.role) export"))
    } catch {
      places.end(of: publisher.id)
      throw error
    }
    runs[ObjectIdentifier(run)] = run
    // The answer goes out before the export ends, so the export has a task of its own. It ends in any case: with the
    // last line, with a client that does not read, after its longest time, or with the gateway.
    running.start { [self] in
      await run.write(publisher, after: soFar, atMost: Self.longest)
      runs[ObjectIdentifier(run)] = nil
      // A client that sees the end may ask again at once.
      places.end(of: publisher.id)
      run.end()
      guard let ending = run.ending else { return }
      onEnd(ending)
      tell(publisher, ending, run.error)
    }
    guard await run.stream.begins() else { throw run.error ?? AnswerStream.Unread() }
    return run.stream
  }

  /// Does nothing: requests begin exports.
  func start() {}

  /// Breaks all exports off, because few would end within the grace period. From now on none begins.
  func close() async {
    running.close()
    for run in runs.values { await run.stop() }
  }

  func stop(within grace: Duration) async {
    await close()
    await running.finish(within: grace)
  }

  private func tell(_ publisher: Publisher, _ ending: ExportRun.Ending, _ error: (any Error)?) {
    context.log.info(
      "an export ended", ["publisherId": .int(publisher.id.number), "outcome": .string(ending.rawValue)])
    if ending == .failed, let error { context.log.ledgerFailure("an export broke off", error) }
  }
}
