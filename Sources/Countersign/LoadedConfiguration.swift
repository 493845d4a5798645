import AppStore
import Configuration
import Domain
import Doors
import EventLoop
import FoundationEssentials
import Observability

/// The checked configuration of a command.
struct LoadedConfiguration: Sendable {
  var settings: Settings
  /// Those in use, and the files that do not count.
  let publishers: Publishers
  /// The mistakes of the publishers' files.
  let publisherMistakes: [Mistake]
  /// Where secrets of the examples are in use, one sentence each.
  let publishedSecrets: [String]
  /// What `check-config` does not refuse, and an operator should still look at.
  var warnings: [String] { publishedSecrets + settings.plainPorts }
  private let loader: ConfigurationLoader
  private let folder: PublisherFolder

  /// The files that it was read from.
  var files: ConfigurationFiles { loader.files }
  /// The configuration file itself.
  var file: String { loader.file }

  /// Mistakes, and the files that have them.
  struct Refused: Error, CustomStringConvertible {
    let cause: any Error
    let files: ConfigurationFiles
    var description: String { "\(cause)" }
  }

  /// Reads the file that `--config` names. It blocks.
  ///
  /// A publisher's file with a mistake is no reason to refuse the others, as long as there are any.
  ///
  /// - Parameter old: the configuration in use; `nil` at a start.
  /// - Throws: ``Refused`` with every mistake, or a text about the arguments.
  init(_ arguments: [String], command: String, after old: LoadedConfiguration? = nil) throws {
    loader = try ConfigurationLoader(arguments, command: command)
    do {
      settings = try loader.settings(
        for: command == "check-config"
          ? Set(SettingsUser.allCases) : Set([SettingsUser(rawValue: command)].compactMap(\.self)))
      folder = try loader.publisherFolder(
        settings.publishersFolder, addresses: settings.notifier.webhookAddress, after: old?.folder)
    } catch {
      throw Refused(cause: error, files: loader.files)
    }
    let reading = folder.reading(after: old?.publishers ?? Publishers([]), now: unixMilliseconds())
    (publishers, publisherMistakes) = (reading.publishers, reading.mistakes)
    if publishers.all.isEmpty {
      throw Refused(cause: ConfigurationError(mistakes: publisherMistakes), files: loader.files)
    }
    publishedSecrets = PublishedSecrets.warnings(publishers, loader.files)
  }

  /// Refuses every mistake of a publisher's file too.
  ///
  /// - Throws: ``Refused``.
  func withoutMistakes() throws -> LoadedConfiguration {
    guard !publisherMistakes.isEmpty else { return self }
    throw Refused(cause: ConfigurationError(mistakes: publisherMistakes), files: files)
  }

  /// Why a role cannot start. If an address is to blame, the error names its key and file.
  func cause(of error: any Error, role: String) -> any Error {
    error is ListenError ? loader.mistake("\(role).listen", "\(error)") : error
  }
}

/// Arguments that a command cannot use.
struct UsageError: Error, CustomStringConvertible {
  let description: String
}

extension ConfigurationLoader {
  /// Reads the arguments `--config FILE`, in the order of ``Command/ordered(_:)``.
  init(_ arguments: [String], command: String) throws {
    var file: String?
    var rest = arguments[...]
    while let word = rest.popFirst() {
      guard word == "--config" else {
        throw UsageError(description: "countersign \(command): \(word) does not go together with the other arguments")
      }
      file = rest.popFirst()
    }
    guard let file else { throw UsageError(description: "countersign \(command): --config FILE is missing") }
    guard !file.isEmpty else {
      throw UsageError(description: "countersign \(command): --config needs the path of a file")
    }
    self.init(file: file, environment: ProcessInfo.processInfo.environment, doors: DoorRegistry.all)
  }
}
