import EventLoop
import Import

/// The lines of an uploaded file, read on the loop.
@LoopActor
final class UploadedLines {
  private let fetch: @LoopActor (_ place: Int64) async throws -> [UInt8]?
  private var lines = LineSplitter()
  private var place: Int64
  private var isAtEnd = false

  /// - Parameters:
  ///   - place: where the first line begins, in bytes.
  ///   - fetch: fetches the bytes from a place on; `nil` at the end.
  init(from place: Int64 = 0, fetch: @escaping @LoopActor (Int64) async throws -> [UInt8]?) {
    (self.place, self.fetch) = (place, fetch)
  }

  /// Returns the next line without its line feed; `nil` at the end.
  ///
  /// - Throws: the errors of the fetch; `LineSplitter.TooLong`.
  func next() async throws -> [UInt8]? {
    while true {
      if let line = lines.next() { return line }
      if isAtEnd { return lines.rest() }
      guard let bytes = try await fetch(place) else {
        isAtEnd = true
        continue
      }
      place += Int64(bytes.count)
      try lines.take(bytes)
    }
  }

  /// Reads the lines within a number of bytes. The last one is left out, unless the file ends there: it may be cut.
  func lines(within most: Int) async throws -> [[UInt8]] {
    var (all, read) = ([[UInt8]](), 0)
    while read < most, let bytes = try await fetch(place) {
      place += Int64(bytes.count)
      read += bytes.count
      try lines.take(bytes)
      while let line = lines.next() { all.append(line) }
    }
    if read < most, let rest = lines.rest() { all.append(rest) }
    return all
  }
}
