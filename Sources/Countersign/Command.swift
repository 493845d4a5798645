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
  let summary: String
  /// The arguments that it takes; `nil` for a command that prints its own help.
  var arguments: String? = "--config FILE"
  /// Runs with the arguments after the name and returns the exit status.
  let run: @LoopActor @Sendable ([String]) async -> Int32

  /// Every subcommand of the executable.
  static let all: [Command] = [
    .role("gateway", "takes registrations in over HTTP and answers for their status") { context in
      try Gateway(context, doors: DoorRegistry.all)
    },
    .role("worker", "runs the jobs: asks Apple, verifies, decides, publishes the events") { context in
      try Worker(context) { [rootFiles = context.settings.appStore.rootFiles] in
        try ImportEvidence($0, rootFiles: rootFiles)
      }
    },
    .role("notifier", "delivers the events to webhook endpoints") { context in
      try Notifier(context)
    },
    .role("console", "shows people why a customer has access; off until it is configured") { context in
      try Console(context)
    },
    Command(
      name: "console-password", summary: "makes a line of the console's file of users; reads the password",
      arguments: ConsolePasswordCommand.usage, run: ConsolePasswordCommand.run),
    Command(
      name: "migrate", summary: "brings the ledger's schema up to this build; --check only says what is missing",
      arguments: MigrateCommand.usage, run: MigrateCommand.run),
    Command(
      name: "rekey", summary: "encrypts the secrets in the ledger with the first key of ledger.keysFile",
      arguments: RekeyCommand.usage, run: RekeyCommand.run),
    Command(
      name: "test-notification", summary: "lets Apple post a test, and tells whether it arrived",
      arguments: TestNotificationCommand.usage, run: TestNotificationCommand.run),
    Command(
      name: "declare", summary: "declares the exchanges and queues, for roles whose account may not",
      run: DeclareCommand.run),
    Command(
      name: "subscribers", summary: "lists the events that subscribers miss", arguments: SubscribersCommand.usage,
      run: SubscribersCommand.run),
    Command(
      name: "jobs", summary: "lists the jobs that wait for their next attempt, or runs them at once",
      arguments: JobsCommand.usage, run: JobsCommand.run),
    Command(
      name: "health", summary: "asks a running role whether it is ready, for a health check of a container",
      arguments: HealthCommand.usage, run: HealthCommand.run),
    Command(
      name: "dead", summary: "lists what was given up, lets it run again, or drops it",
      arguments: DeadCommand.usage, run: DeadCommand.run),
    Command(
      name: "export", summary: "writes all of a publisher as JSON lines, or a view for analysts as CSV",
      arguments: ExportCommand.usage, run: ExportCommand.run),
    Command(
      name: "import", summary: "registers the purchases of a file in bulk, and tells what became of each",
      arguments: ImportCommand.usage, run: ImportCommand.run),
    Command(
      name: "shadow", summary: "compares another system's view of customers' access with the ledger's",
      arguments: ShadowCommand.usage, run: ShadowCommand.run),
    Command(name: "simulator", summary: "stands in for the App Store Server API", run: SimulatorCommand.run),
    Command(
      name: "verify", summary: "verifies signed data on the command line", arguments: nil, run: VerifyCommand.run),
    Command(
      name: "check-config", summary: "checks the configuration and tells every mistake",
      arguments: CheckConfigCommand.usage, run: CheckConfigCommand.run),
    Command(
      name: "completion", summary: "prints what makes a shell complete commands and options",
      arguments: CompletionCommand.usage, run: CompletionCommand.run),
    Command(name: "manual", summary: "prints the manual page for man", arguments: "", run: ManualCommand.run),
  ]

  /// Prints the help for `--help`, otherwise runs.
  @LoopActor
  func callAsFunction(_ words: [String]) async -> Int32 {
    guard let arguments, words.contains("--help") || words.contains("-h") else { return await run(words) }
    print(
      """
      usage: countersign \(name) \(arguments)

      \(summary.prefix(1).uppercased() + summary.dropFirst()). Any key of the file can be overridden by an environment variable;
      countersign check-config --describe lists all keys.
      """)
    return 0
  }

  /// What the executable itself takes in place of a command.
  static let options = [
    (name: "--help", summary: "prints this help; COMMAND --help prints that of a command"),
    (name: "--version", summary: "prints the version, the commit, and the versions of the C libraries in use"),
  ]

  static var usage: String {
    let entries = all.map { (name: $0.name, summary: $0.summary) } + options
    let lines = entries.map { entry in
      "  " + entry.name + String(repeating: " ", count: 19 - entry.name.count) + entry.summary
    }
    return """
      usage: countersign COMMAND [ARGUMENTS]

      \(lines.joined(separator: "\n"))

      A role takes --config FILE; any key of the file can be overridden by an environment variable.
      """
  }
}
