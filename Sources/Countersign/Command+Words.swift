import Configuration

extension Command {
  /// Puts arguments in order: first the operands, then the options, each with its value in the next word.
  ///
  /// `list --kind=jobs` becomes `list`, `--kind`, `jobs`. What an option needs, and which of them go together, is the
  /// command's own matter.
  ///
  /// - Throws: `UsageError` for an option that does not exist, for a missing value, and for too many operands.
  func ordered(_ arguments: [String]) throws(UsageError) -> [String] {
    var (operands, words) = ([String](), [String]())
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      guard argument.hasPrefix("-"), argument != "-" else {
        operands.append(argument)
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard let option = option(parts[0]) else {
        let names = options.map(\.name) + ["--help"]
        throw refusal("there is no option \(parts[0])\(NearestName.question(parts[0], among: names))")
      }
      words.append(option.name)
      guard option.value != nil else {
        if parts.count > 1 { throw refusal("\(option.name) takes no value") }
        continue
      }
      // An option is no value of the one before it.
      let next = parts.count > 1 ? parts[1] : rest.first.flatMap { isOption($0) ? nil : $0 }
      guard let value = next else { throw refusal("\(option.name) needs \(option.need)") }
      if parts.count == 1 { rest = rest.dropFirst() }
      words.append(value)
    }
    if operands.count > mostOperands {
      throw refusal("unusable argument \(operands[mostOperands])")
    }
    return operands + words
  }

  private func option(_ name: String) -> CommandOption? { options.first { $0.name == name } }

  private func isOption(_ word: String) -> Bool { option(String(word.prefix { $0 != "=" })) != nil }

  private func refusal(_ problem: String) -> UsageError {
    UsageError(
      description: "countersign \(name): \(problem)\ncountersign \(name) --help shows how the command is called")
  }
}
