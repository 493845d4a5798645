import Configuration
import EventLoop
import FoundationEssentials
import Observability
import Service

/// The file of users, read again and again: a changed password counts within some seconds.
///
/// Who is not in the file is out, also if the file is gone, empty, or cannot be read.
@LoopActor
final class PeopleFile {
  private(set) var people: ConsolePeople
  private let path: String
  private let log: Log
  /// What the log has told.
  private var told: [String] = []

  /// Why the console cannot start.
  struct Unusable: Error, Equatable, CustomStringConvertible {
    let description: String
  }

  /// Reads the file for the first time. It blocks.
  ///
  /// - Throws: ``Unusable`` if the setting is missing, or the file. A file with mistakes is none to stop for.
  init(_ context: RoleContext) throws(Unusable) {
    guard let path = context.settings.console.usersFile else {
      throw Unusable(
        description: "\(ConsoleSettings.usersFileKey) is missing, expected a file with one line for each person")
    }
    guard let people = Self.read(path) else {
      throw Unusable(description: "\(ConsoleSettings.usersFileKey): the file \(path) cannot be read")
    }
    (self.path, log, self.people) = (path, context.log, people)
    context.metrics.gauge(
      "countersign_console_users_file_mistakes",
      "Lines of console.usersFile that let nobody in because they cannot be used; 1 if it is the file itself."
    ) { [weak self] in
      Double(self?.people.mistakes.count ?? 0)
    }
    tell()
  }

  /// The service that reads it again.
  private(set) lazy var chore = Chore(every: .seconds(5), .dropped) { [weak self] in await self?.look() }

  /// Reads it again.
  func look() async {
    let nobody = ConsolePeople(nobodyBecause: "cannot be read, so nobody can sign in")
    people = (try? await EventLoop.offload { [path] in Self.read(path) ?? nobody }) ?? nobody
    tell()
  }

  /// Logs the mistakes when they are others than before.
  private func tell() {
    guard people.mistakes != told else { return }
    told = people.mistakes
    if told.isEmpty { return log.info("console users file has no mistakes any more", ["file": .string(path)]) }
    for mistake in told.prefix(10) {
      log.error("console users file has a mistake", ["file": .string(path), "mistake": .string(mistake)])
    }
  }

  /// Returns the people; `nil` if the file cannot be read.
  private nonisolated static func read(_ path: String) -> ConsolePeople? {
    (try? Data(contentsOf: URL(filePath: path))).map { ConsolePeople(String(decoding: $0, as: UTF8.self)) }
  }
}
