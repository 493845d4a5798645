import Configuration
import EventLoop

/// Finds the subcommand and runs it; returns the exit status.
@LoopActor
func runCommand(_ arguments: [String]) async -> Int32 {
  switch arguments.first {
  case nil, "help", "--help", "-h":
    print(Command.usage)
    return arguments.isEmpty ? 2 : 0
  case "version", "--version":
    print(BuildVersion.text)
    return 0
  case .some(let name):
    guard let command = Command.all.first(where: { $0.name == name }) else {
      let names = Command.all.map(\.name) + Command.options.map(\.name)
      let question = NearestName.question(name, among: names)
      complain("countersign: no such command: \(name)\(question)\n\n\(Command.usage)")
      return 2
    }
    return await command(Array(arguments.dropFirst()))
  }
}
