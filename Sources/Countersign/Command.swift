import Configuration
import Console
import Doors
import EventLoop
import Gateway
import Notifier
import Service
import Worker

/// A subcommand: its name, one line about it, and its code.
struct Command: Sendable {
  let name: String
  /// What it does, in the words of docs/reference/command-line.md.
  let summary: String
  /// How it is called, behind its name.
  var synopsis = "--config FILE"
  /// The words that it may begin with, such as actions.
  var actions: [String] = []
  /// The most words that are no options: its action, and its file.
  var mostOperands = 0
  var options: [CommandOption] = [.configuration]
  /// What the help says behind the options.
  var notes = ""
  /// Runs with the arguments after the name and returns the exit status. The arguments are in the order of
  /// ``ordered(_:)``.
  let run: @LoopActor @Sendable ([String]) async -> Int32

  /// Every subcommand of the executable.
  static let all: [Command] = [
    .role("gateway", "accepts registrations over HTTP and answers requests for their status") { context in
      try Gateway(context, doors: DoorRegistry.all)
    },
    .role("worker", "runs the jobs: asks Apple, verifies, decides, publishes the events") { context in
      try Worker(context) { [rootFiles = context.settings.appStore.rootFiles] in
        try ImportEvidence($0, rootFiles: rootFiles)
      }
    },
    .role(
      "notifier",
      "delivers the events to webhook endpoints, and passes Apple's notifications on to the URLs of "
        + "notifications.forwardTo"
    ) { context in
      try Notifier(context)
    },
    .role("console", "shows people why a customer has access, in a browser; off until it is configured") { context in
      try Console(context)
    },
    ConsolePasswordCommand.command, MigrateCommand.command, RekeyCommand.command, TestNotificationCommand.command,
    Command(
      name: "declare",
      summary:
        "declares RabbitMQ's exchanges and queues, for roles whose account may not; recreates the dead queues of "
        + "an earlier version",
      run: DeclareCommand.run),
    JobsCommand.command, DeadCommand.command, SubscribersCommand.command, ExportCommand.command,
    ImportCommand.command, ShadowCommand.command, HealthCommand.command,
    Command(name: "simulator", summary: "stands in for the App Store Server API", run: SimulatorCommand.run),
    CheckConfigCommand.command, VerifyCommand.command, CompletionCommand.command, ManualCommand.command,
  ]

  /// Prints the help for `--help`, otherwise runs.
  @LoopActor
  func callAsFunction(_ words: [String]) async -> Int32 {
    if words.contains("--help") || words.contains("-h") {
      print(help)
      return 0
    }
    do {
      let arguments = try ordered(words)
      return await run(arguments)
    } catch {
      complain("\(error)")
      return 2
    }
  }

  /// What the executable itself takes in place of a command.
  static let options = [
    CommandOption("--help", "prints this help; COMMAND --help prints that of a command"),
    CommandOption("--version", "prints the version, the commit, and the versions of the C libraries in use"),
  ]
}
