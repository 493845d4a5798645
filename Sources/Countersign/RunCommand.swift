import Configuration
import EventLoop

/// Finds the subcommand and runs it; returns the exit status.
@LoopActor
func runCommand(_ arguments: [String]) async -> Int32 {
  let words = Array(arguments.dropFirst())
  switch arguments.first {
  case nil:
    print(Command.usage)
    return 2
  case "help", "--help", "-h": return help(words)
  case "version", "--version":
    guard words.isEmpty else { return refuse("--version takes no argument \(words[0])") }
    print(BuildVersion.text)
    return 0
  case .some(let name):
    guard let command = command(name) else { return 2 }
    return await command(words)
  }
}

/// `countersign help` and `countersign help COMMAND`.
private func help(_ words: [String]) -> Int32 {
  guard let name = words.first, !["help", "--help", "-h"].contains(name) else {
    print(Command.usage)
    return 0
  }
  guard words.count == 1 else { return refuse("help takes one command, and no argument \(words[1])") }
  guard let command = command(name) else { return 2 }
  print(command.help)
  return 0
}

/// Returns a command. If it does not exist, standard error has the nearest one.
private func command(_ name: String) -> Command? {
  if let command = Command.all.first(where: { $0.name == name }) { return command }
  let names = Command.all.map(\.name) + Command.options.map(\.name)
  complain(
    "countersign: no such command: \(name)\(NearestName.question(name, among: names))\n"
      + "countersign --help lists the commands")
  return nil
}

private func refuse(_ problem: String) -> Int32 {
  complain("countersign: \(problem)")
  return 2
}
