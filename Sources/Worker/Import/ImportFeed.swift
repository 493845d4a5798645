import Domain
import EventLoop
import Glibc
import Import

/// Reads an uploaded file on a thread of the pool, because a file may have a million rows. The loop fetches the bytes.
///
/// The thread waits for each fetch. It never waits long: a statement of the ledger has a deadline.
final class ImportFeed: @unchecked Sendable {
  // Sendable is right: `lock` guards `answer`. The semaphore is touched only through its own calls, which are
  // thread-safe, and its address never changes. The fetch runs on the loop only.
  typealias Fetch = @LoopActor @Sendable (_ place: Int64) async throws -> [UInt8]?

  private let fetch: Fetch
  private let lock = Lock()
  private var answer: Result<[UInt8]?, any Error> = .success(nil)
  private let ready = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  private init(_ fetch: @escaping Fetch) {
    self.fetch = fetch
    sem_init(ready, 0, 0)
  }

  deinit {
    sem_destroy(ready)
    ready.deallocate()
  }

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - offers: the publisher's.
  ///   - fetch: fetches the bytes from a place on, as many as it likes; `nil` at the end.
  /// - Throws: the errors of the fetch. A line that is too long is a problem of the file.
  @LoopActor
  static func read(
    _ preset: ExportColumns, _ verifier: any ImportVerifier, _ limits: ImportFile.Limits, _ offers: OfferCatalog,
    fetch: @escaping Fetch
  ) async throws -> ImportFile {
    let feed = ImportFeed(fetch)
    return try await EventLoop.offload { try feed.file(preset, verifier, limits, offers) }
  }

  private func file(
    _ preset: ExportColumns, _ verifier: any ImportVerifier, _ limits: ImportFile.Limits, _ offers: OfferCatalog
  ) throws -> ImportFile {
    var (lines, place, isAtEnd) = (LineSplitter(), Int64(0), false)
    var failure: (any Error)?
    let file = ImportFile(preset: preset, verifier: verifier, limits: limits, offers: offers) {
      () throws(ImportProblem) -> [UInt8]? in
      while failure == nil {
        if let line = lines.next() { return line }
        if isAtEnd { return lines.rest() }
        do {
          guard let bytes = try self.bytes(at: place) else {
            isAtEnd = true
            continue
          }
          place += Int64(bytes.count)
          try lines.take(bytes)
        } catch let error as LineSplitter.TooLong {
          throw error.problem
        } catch {
          failure = error
        }
      }
      return nil
    }
    if let failure { throw failure }
    return file
  }

  /// Waits on this thread for the loop's fetch.
  private func bytes(at place: Int64) throws -> [UInt8]? {
    Task { @LoopActor in
      let fetched: Result<[UInt8]?, any Error>
      do { fetched = .success(try await fetch(place)) } catch { fetched = .failure(error) }
      lock.withLock { answer = fetched }
      sem_post(ready)
    }
    // A signal may interrupt it.
    while sem_wait(ready) != 0 {}
    return try lock.withLock { answer }.get()
  }
}
