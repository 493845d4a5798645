import Domain
import EventLoop
import HTTPServer
import Ledger
import Service

/// The reports of imports that are read at a gateway. Each holds one piece in memory, until its client has read it.
@LoopActor
final class ImportReports: RoleService {
  /// The most reports at a time, three quarters of them of one publisher.
  private static let most = 8

  private var places = PublisherLimit(most: ImportReports.most)
  private let running = RunningTasks()

  init() {}

  /// Does nothing: requests begin reports.
  func start() {}

  /// Does nothing: a client may read its report to the end within the grace period.
  func close() {}

  /// Waits for the reports. The server, which stops first, has broken off what clients did not read in time.
  func stop(within grace: Duration) async {
    running.close()
    await running.finish(within: grace)
  }

  /// Takes a place for a report, which ``stream(of:first:next:onFailure:)`` gives back; `false` when there is none.
  func begin(of publisher: PublisherId) -> Bool { !running.isClosed && places.begin(of: publisher) }

  /// Gives back a place that was not used.
  func end(of publisher: PublisherId) { places.end(of: publisher) }

  /// Writes a report piece by piece, as fast as its client reads.
  ///
  /// - Parameters:
  ///   - first: its beginning.
  ///   - next: reads the piece that begins at a byte; `nil` at the end. If the report is deleted meanwhile, it throws.
  ///   - onFailure: learns why a report broke off.
  func stream(
    of publisher: PublisherId, first: [UInt8]?, next: @escaping @LoopActor (Int64) async throws -> [UInt8]?,
    onFailure: @escaping @LoopActor (any Error) -> Void
  ) -> AnswerStream {
    let stream = AnswerStream()
    // The answer goes out before the report ends. It ends in any case: with the last piece, or with a client that does
    // not read.
    running.start { [self] in
      do {
        var (place, piece) = (Int64(0), first)
        while let bytes = piece {
          try await stream.write(bytes)
          place += Int64(bytes.count)
          piece = try await next(place)
        }
        stream.finish()
      } catch {
        stream.fail()
        if !(error is AnswerStream.Unread) { onFailure(error) }
      }
      places.end(of: publisher)
    }
    return stream
  }
}
