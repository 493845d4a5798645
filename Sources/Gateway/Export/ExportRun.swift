import Domain
import EventLoop
import HTTPServer
import Ledger
import Postgres

/// One export of a gateway: a connection of its own, and the stream of its lines.
@LoopActor
final class ExportRun {
  /// How an export that had begun has ended; a label of a metric.
  enum Ending: String, CaseIterable {
    case whole
    /// The client hung up, or read too slowly.
    case unread
    /// It held its moment for as long as it may.
    case tooLong = "too_long"
    case stopped
    case failed
  }

  /// The gateway's loop serves others between two pages, so a page is smaller than a command's.
  private nonisolated static var pages: PublisherExport.Pages {
    var pages = PublisherExport.Pages()
    (pages.things, pages.purchases) = (100, 20)
    return pages
  }

  /// The lines.
  let stream = AnswerStream()
  /// What has kept the export from its end.
  private(set) var error: (any Error)?
  /// `nil` while it runs, and if it ended before its first line.
  private(set) var ending: Ending?
  private var hasBegun = false
  private let postgres: PostgresClient
  private let changed: LoopSignal

  init(_ endpoint: PostgresEndpoint) {
    let changed = LoopSignal()
    self.changed = changed
    postgres = PostgresClient(endpoint, connections: 1) { _ in changed.notify() }
  }

  /// Writes all lines, and waits for the client behind each page. ``end()`` must follow.
  ///
  /// - Parameter longest: how long it may take.
  func write(_ publisher: Publisher, after soFar: ExportedSoFar?, atMost longest: Duration) async {
    let timer = LoopTimer { [weak self] in self?.breakOff(.tooLong) }
    timer.start(after: longest)
    postgres.start()
    // The client tells how its first attempt to connect has ended.
    await changed.wait(atMost: .seconds(15))
    do {
      let export = PublisherExport(postgres, publisher, pages: Self.pages)
      _ = try await export.run(
        after: soFar,
        PublisherExport.Caller(
          write: { [self] page in
            hasBegun = true
            try await stream.write(page)
          },
          // The ledger and the loop have at least half of the time for others.
          rest: { try await EventLoop.sleep(for: min($0, .seconds(1))) }))
      ending = ending ?? .whole
    } catch {
      self.error = error
      if hasBegun, ending == nil { ending = error is AnswerStream.Unread ? .unread : .failed }
    }
    timer.close()
    await postgres.stop()
  }

  /// Lets the client know how the export has ended.
  func end() { if ending == .whole { stream.finish() } else { stream.fail() } }

  /// Breaks the export off, unless it is over: the client gets no end.
  func breakOff(_ ending: Ending) {
    guard stream.isOpen else { return }
    if hasBegun { self.ending = ending }
    stream.fail()
  }

  /// Breaks the export off, also in the middle of a statement.
  func stop() async {
    breakOff(.stopped)
    await postgres.stop()
  }
}
