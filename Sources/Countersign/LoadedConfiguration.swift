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
  let publishers: Publishers
  private let loader: ConfigurationLoader

  /// The files that it was read from.
  var files: ConfigurationFiles { loader.files }
  /// The configuration file itself.
  var file: String { loader.file }

  /// What is no mistake, and still dangerous.
  var warnings: [String] { PublishedSecrets.warnings(publishers, files) }

  /// Logs the ``warnings``, at a start and at a reload.
  @LoopActor func warn(_ log: Log) {
    for warning in warnings { log.warning("a secret is known to everybody", ["place": .string(warning)]) }
  }

  /// Mistakes, and the files that have them.
  struct Refused: Error, CustomStringConvertible {
    let cause: any Error
    let files: ConfigurationFiles
    var description: String { "\(cause)" }
  }

  /// Reads the file that `--config` names.
  ///
  /// - Throws: ``Refused`` with every mistake, or a text about the arguments.
  init(_ arguments: [String], command: String) throws {
    loader = try ConfigurationLoader(arguments, command: command)
    var mistakes: [Mistake] = []
    var settings: Settings?
    do {
      settings = try loader.settings(
        for: command == "check-config"
          ? Set(SettingsUser.allCases) : Set([SettingsUser(rawValue: command)].compactMap(\.self)))
    } catch let error as ConfigurationError {
      mistakes += error.mistakes
    }
    var publishers: Publishers?
    if let settings {
      do {
        publishers = try loader.publishers(
          in: settings.publishersFolder, addresses: settings.notifier.webhookAddress)
      } catch let error as ConfigurationError {
        mistakes += error.mistakes
      }
    }
    guard let settings, let publishers else {
      throw Refused(cause: ConfigurationError(mistakes: mistakes), files: loader.files)
    }
    self.settings = settings
    self.publishers = publishers
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
  /// Reads the arguments `--config FILE`.
  init(_ arguments: [String], command: String) throws {
    var file: String?
    var rest = arguments[...]
    while let word = rest.popFirst() {
      if word == "--config", let value = rest.popFirst() {
        file = value
      } else if word.hasPrefix("--config=") {
        file = String(word.dropFirst(9))
      } else {
        throw UsageError(
          description: "countersign \(command): unusable argument \(word); usage: countersign \(command) --config FILE")
      }
    }
    guard let file else {
      throw UsageError(description: "countersign \(command): --config FILE is missing")
    }
    self.init(file: file, environment: ProcessInfo.processInfo.environment, doors: DoorRegistry.all)
  }
}
