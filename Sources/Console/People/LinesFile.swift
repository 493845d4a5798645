import EventLoop
import FoundationEssentials
import Observability
import Service

/// What a file says about people, line by line.
protocol FileLines: Sendable {
  /// What cannot be used, and why. The texts show no line.
  var mistakes: [String] { get }
  /// Reads the file.
  init(_ text: String)
  /// Nobody, because the file itself cannot be used.
  init(nobodyBecause mistake: String)
}

/// A file about people, read again and again: a changed line counts within some seconds.
///
/// Who is not in the file is out, also if the file is gone, empty, or cannot be read.
@LoopActor
final class LinesFile<Lines: FileLines> {
  private(set) var lines: Lines
  private let path: String
  /// What the log calls it.
  private let name: String
  private let log: Log
  /// What the log has told.
  private var told: [String] = []

  /// Reads the file for the first time. It blocks.
  ///
  /// - Parameters:
  ///   - name: what the log calls it.
  ///   - key: the setting that names it.
  /// - Throws: ``UnusableFile`` if it cannot be read. A file with mistakes is none to stop for.
  init(_ path: String, _ name: String, _ key: String, _ log: Log) throws(UnusableFile) {
    guard let lines = Self.read(path) else {
      throw UnusableFile(description: "\(key): the file \(path) cannot be read")
    }
    (self.path, self.name, self.log, self.lines) = (path, name, log, lines)
    tell()
  }

  /// The service that reads it again.
  private(set) lazy var chore = Chore(every: .seconds(5), .dropped) { [weak self] in await self?.look() }

  /// Reads it again.
  func look() async {
    let nobody = Lines(nobodyBecause: "cannot be read, so it lets nobody in")
    lines = (try? await EventLoop.offload { [path] in Self.read(path) ?? nobody }) ?? nobody
    tell()
  }

  /// Logs the mistakes when they are others than before.
  private func tell() {
    guard lines.mistakes != told else { return }
    told = lines.mistakes
    if told.isEmpty { return log.info("\(name) no longer has mistakes", ["file": .string(path)]) }
    for mistake in told.prefix(10) {
      log.error("\(name) has a mistake", ["file": .string(path), "mistake": .string(mistake)])
    }
  }

  /// Returns the lines; `nil` if the file cannot be read.
  private nonisolated static func read(_ path: String) -> Lines? {
    (try? Data(contentsOf: URL(filePath: path))).map { Lines(String(decoding: $0, as: UTF8.self)) }
  }
}

/// Why the console cannot start.
struct UnusableFile: Error, Equatable, CustomStringConvertible {
  let description: String
}
