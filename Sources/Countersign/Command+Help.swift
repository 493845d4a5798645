extension Command {
  /// What `--help` prints.
  var help: String {
    let beginning = "usage: countersign \(name) "
    var paragraphs = [
      HelpText.lines(HelpText.parts(ofSynopsis: synopsis), after: beginning, indent: beginning.count),
      HelpText.lines(summary.sentence),
    ]
    if !options.isEmpty { paragraphs.append(HelpText.table(options.map { ($0.form, $0.meaning) })) }
    if !notes.isEmpty { paragraphs.append(notes) }
    if options.contains(where: { $0.name == CommandOption.configuration.name }) {
      paragraphs.append(
        HelpText.lines(
          "Any key of the configuration file can be overridden by an environment variable; countersign check-config "
            + "--describe lists all keys."))
    }
    return paragraphs.joined(separator: "\n\n")
  }

  /// The help of the executable itself.
  static var usage: String {
    let commands: [(name: String, meaning: String)] = all.map { ($0.name, $0.summary) }
    let others: [(name: String, meaning: String)] = options.map { ($0.name, $0.meaning) }
    return """
      usage: countersign COMMAND [ARGUMENTS]

      \(HelpText.table(commands + others))

      A role takes --config FILE; any key of the file can be overridden by an environment variable.
      """
  }
}
