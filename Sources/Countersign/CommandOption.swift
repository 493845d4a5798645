/// An option of a command, as `--help` and the manual page show it.
struct CommandOption: Sendable {
  /// Such as `--config`.
  let name: String
  /// What its value is called, such as `FILE`; `nil` if it has none.
  let value: String?
  let meaning: String

  /// - Parameters:
  ///   - form: the name, and the value if it has one: `--config FILE`.
  ///   - meaning: half a sentence.
  init(_ form: String, _ meaning: String) {
    let words = form.split(separator: " ", maxSplits: 1).map(String.init)
    name = words.first ?? form
    value = words.count > 1 ? words[1] : nil
    self.meaning = meaning
  }

  /// The name and the value.
  var form: String { value.map { "\(name) \($0)" } ?? name }

  /// What a command asks for if the value is missing.
  var need: String { value == "FILE" ? "the path of a file" : "a value: \(value ?? "")" }

  /// The option of every command that reads the configuration.
  static let configuration = CommandOption("--config FILE", "the configuration file")
  static let publisher = CommandOption("--publisher ID", "the publisher")
  /// The name in the audit log.
  static let operatorName = CommandOption(
    "--as NAME", "your name in the audit log; the default is the user of the system")
  /// The form of the option that chooses by age.
  static let olderThan = "--older-than TIME"
}

extension String {
  /// Half a sentence of a help text as a whole one.
  var sentence: String { prefix(1).uppercased() + dropFirst() + "." }
}
