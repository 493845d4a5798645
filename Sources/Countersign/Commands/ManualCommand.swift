import EventLoop

/// `countersign manual`: prints the manual page, for man(1).
enum ManualCommand {
  static let command = Command(
    name: "manual", summary: "prints the manual page", synopsis: "", options: [], run: run)

  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    print(page(Command.all))
    return 0
  }

  /// The page in roff, made from the same tables as `--help`.
  static func page(_ commands: [Command]) -> String {
    let entries = commands.map { command in
      let form = command.synopsis.isEmpty ? command.name : "\(command.name) \(command.synopsis)"
      let entry = ".TP\n.B \(escaped(form))\n\(escaped(command.summary.sentence))"
      return command.options.isEmpty ? entry : "\(entry)\n.RS\n\(list(command.options))\n.RE"
    }
    return """
      .TH COUNTERSIGN 1 "" "countersign \(BuildVersion.number)" "Countersign"
      .SH NAME
      countersign \\- verifies Apple in-app purchases for platform teams
      .SH SYNOPSIS
      .B countersign
      .I COMMAND
      .RI [ ARGUMENTS ]
      .SH DESCRIPTION
      Gateways, workers and notifiers are roles: they run until SIGTERM, and write their log to standard error.
      Any key of the configuration file can be overridden by an environment variable;
      .B countersign check\\-config \\-\\-describe
      lists them all.
      .SH COMMANDS
      \(entries.joined(separator: "\n"))
      .SH OPTIONS
      \(list(Command.options))
      .SH EXIT STATUS
      0 is success, 1 a failure, and 2 a mistake in the arguments or in the configuration.
      """
  }

  private static func list(_ options: [CommandOption]) -> String {
    options.map { ".TP\n.B \(escaped($0.form))\n\(escaped($0.meaning.sentence))" }.joined(separator: "\n")
  }

  /// Text as roff prints it. A line that begins with a period or an apostrophe would be a request.
  private static func escaped(_ text: String) -> String {
    let plain = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
    return plain.first == "." || plain.first == "'" ? "\\&" + plain : plain
  }
}
