import EventLoop
import Fleet
import Gateway
import Notifier
import Worker

/// A subcommand: its name, one line about it, and what it does.
struct Command: Sendable {
  let name: String
  let summary: String
  /// Runs with the arguments after the name and returns the exit status.
  let run: @LoopActor @Sendable ([String]) async -> Int32

  /// Every subcommand there is.
  static let all: [Command] = [
    .role("gateway", "takes registrations in over HTTP and answers for their status") { context in
      Gateway(context)
    },
    .role("worker", "runs the jobs: asks Apple, verifies, decides, publishes the events") { context in
      try Worker(context)
    },
    .role("notifier", "delivers the events to webhook endpoints") { context in
      Notifier(context)
    },
    Command(name: "simulator", summary: "stands in for the App Store Server API", run: SimulatorCommand.run),
    Command(name: "verify", summary: "verifies signed data on the command line", run: VerifyCommand.run),
    Command(
      name: "check-config", summary: "checks the configuration and tells every mistake", run: CheckConfigCommand.run),
  ]

  static var usage: String {
    let lines = all.map { command in
      "  " + command.name + String(repeating: " ", count: 14 - command.name.count) + command.summary
    }
    return """
      usage: countersign COMMAND [ARGUMENTS]

      \(lines.joined(separator: "\n"))

      A role takes --config FILE; any key of the file can be overridden by an environment variable.
      """
  }
}
