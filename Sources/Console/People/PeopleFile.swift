import Configuration
import EventLoop
import FoundationEssentials
import Observability
import Service

/// The file of users, read again and again: a changed password counts within some seconds.
@LoopActor
final class PeopleFile {
  private(set) var people: ConsolePeople
  private let path: String
  private let log: Log
  private var trouble: String?

  /// Reads the file for the first time. It blocks.
  ///
  /// - Throws: ``ConsolePeople/Unusable``.
  init(_ context: RoleContext) throws(ConsolePeople.Unusable) {
    guard let path = context.settings.console.usersFile else {
      throw ConsolePeople.Unusable(
        description: "\(ConsoleSettings.usersFileKey) is missing, expected a file with one line for each person")
    }
    (self.path, log) = (path, context.log)
    people = try Self.read(path)
  }

  /// The service that reads it again.
  private(set) lazy var chore = Chore(every: .seconds(5), .dropped) { [weak self] in await self?.look() }

  /// Reads it again. People stay as they are while the file has a mistake.
  func look() async {
    do {
      people = try await EventLoop.offload { [path] in try Self.read(path) }
      if trouble != nil { log.info("console users file can be used again") }
      trouble = nil
    } catch {
      guard trouble != "\(error)" else { return }
      trouble = "\(error)"
      log.error("console users file cannot be used, its earlier lines count", ["cause": .failure(error)])
    }
  }

  private nonisolated static func read(_ path: String) throws(ConsolePeople.Unusable) -> ConsolePeople {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      throw ConsolePeople.Unusable(description: "\(ConsoleSettings.usersFileKey): the file \(path) cannot be read")
    }
    do {
      return try ConsolePeople(String(decoding: data, as: UTF8.self))
    } catch {
      throw ConsolePeople.Unusable(description: "\(ConsoleSettings.usersFileKey): the file \(path) \(error)")
    }
  }
}
