import Console
import EventLoop

/// `countersign console-password`: makes a line of the console's file of users. The password comes from standard input,
/// so that no list of processes and no history of a shell shows it.
enum ConsolePasswordCommand {
  static let command = Command(
    name: "console-password",
    summary: "makes a line of the console's file of users from the password on standard input",
    synopsis: "--name NAME --role \(PasswordLine.roles.joined(separator: "|")) [--publishers IDS]",
    options: [
      CommandOption("--name NAME", "the person's name"),
      CommandOption("--role ROLE", "what the person may do: \(PasswordLine.roles.joined(separator: ", "))"),
      CommandOption(
        "--publishers IDS", "the publishers that the person sees, as 1001,1002; the default is *, all of them"),
    ], run: run)

  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    var (name, role, publishers): (String?, String?, String) = (nil, nil, "*")
    var words = CommandWords(arguments)
    do {
      while let word = words.next() {
        switch word {
        case "--name":
          name = try words.value(of: word, "1 to 100 printable characters without a space") {
            PasswordLine.isName($0) ? $0 : nil
          }
        case "--role":
          role = try words.choice(of: word, PasswordLine.roles) { text in PasswordLine.roles.first { $0 == text } }
        case "--publishers":
          publishers = try words.value(of: word, "* or the ids of publishers with commas, as 1,2") {
            PasswordLine.isPublishers($0) ? $0 : nil
          }
        default: throw CommandWords.Refused(description: "unusable argument \(word)")
        }
      }
      guard let name, let role else { throw CommandWords.Refused(description: "--name and --role are needed") }
      let password = readLine(strippingNewline: true) ?? ""
      guard let line = try PasswordLine.make(name: name, role: role, publishers: publishers, password: password)
      else {
        throw CommandWords.Refused(
          description: "expected a password of \(PasswordLine.lengths.lowerBound) to "
            + "\(PasswordLine.lengths.upperBound) bytes as the first line of standard input")
      }
      print(line)
      return 0
    } catch {
      complain("countersign console-password: \(error)\nusage: countersign console-password \(command.synopsis)")
      return 2
    }
  }
}
