import EventLoop

/// `countersign completion bash`: prints what makes bash complete the commands and their options.
enum CompletionCommand {
  static let usage = "bash"

  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    guard arguments == ["bash"] else {
      complain("countersign completion: expected a shell: bash. zsh reads the same after bashcompinit.")
      return 2
    }
    print(bash(Command.all))
    return 0
  }

  /// The script. Behind an option that takes a file, and for a command that takes a file without one, bash completes
  /// files.
  static func bash(_ commands: [Command]) -> String {
    let cases = commands.map { command in
      let words = command.words.joined(separator: " ")
      return "      \(command.name)) words='\(words)'\(command.takesFile ? " files=-f" : "") ;;"
    }
    let options = Set(commands.flatMap(\.fileOptions)).sorted()
    let names = commands.map(\.name) + ["help"] + Command.options.map(\.name)
    return """
      # source <(countersign completion bash)
      _countersign() {
        local word=${COMP_WORDS[COMP_CWORD]} words='' files=''
        case ${COMP_WORDS[COMP_CWORD - 1]} in
          \(options.joined(separator: " | "))) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
        esac
        if ((COMP_CWORD == 1)); then words='\(names.joined(separator: " "))'; else
          case ${COMP_WORDS[1]} in
      \(cases.joined(separator: "\n"))
          esac
        fi
        mapfile -t COMPREPLY < <(compgen $files -W "$words" -- "$word")
      }
      complete -o filenames -F _countersign countersign
      """
  }
}

extension Command {
  private var text: String { arguments ?? VerifyCommand.usage }

  /// The options whose value is a file, such as `--config FILE`.
  var fileOptions: [String] {
    text.matches(of: /(--[a-z][a-z-]*) FILE\b/).map { String($0.output.1) }
  }

  /// Whether the command takes a file without an option before it.
  var takesFile: Bool { text.replacing(/--[a-z][a-z-]* FILE\b/, with: "").contains(/\bFILE\b/) }

  /// What may stand behind the command's name: its actions and its options.
  var words: [String] {
    let actions = text.prefix { $0 != " " }.split(separator: "|").map(String.init)
    var words = text.hasPrefix("-") || text.contains("\n") ? [] : actions
    for match in text.matches(of: /--[a-z][a-z-]*/) where !words.contains(String(match.output)) {
      words.append(String(match.output))
    }
    return words + ["--help"]
  }
}
