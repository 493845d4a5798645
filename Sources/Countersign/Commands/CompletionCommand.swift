import EventLoop

/// `countersign completion bash`: prints what makes bash complete the commands and their options.
enum CompletionCommand {
  static let command = Command(
    name: "completion", summary: "prints a script that makes bash complete commands, options and files",
    synopsis: "bash", actions: ["bash"], mostOperands: 1, options: [],
    notes: "Bash takes it with: source <(countersign completion bash). zsh takes the same after bashcompinit.", run: run
  )

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
    let names = commands.map(\.name) + ["help"] + Command.options.map(\.name)
    let files = Set(commands.flatMap(\.options).filter { $0.value == "FILE" }.map(\.name)).sorted()
    return """
      # source <(countersign completion bash)
      _countersign() {
        local word=${COMP_WORDS[COMP_CWORD]} words='' files=''
        case ${COMP_WORDS[COMP_CWORD - 1]} in
          \(files.joined(separator: " | "))) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
        esac
        if ((COMP_CWORD == 1)); then words='\(names.joined(separator: " "))'; else
          case ${COMP_WORDS[1]} in
            help) words='\(commands.map(\.name).joined(separator: " "))' ;;
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
  /// Whether the command takes a file without an option before it.
  var takesFile: Bool { synopsis.replacing(/--[a-z][a-z-]* FILE\b/, with: "").contains(/\bFILE\b/) }

  /// What may stand behind the command's name: its actions and its options.
  var words: [String] { actions + options.map(\.name) + ["--help"] }
}
