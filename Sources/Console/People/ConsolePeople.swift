import Crypto
import Formats

/// The people who may sign in.
///
/// A line with a mistake lets nobody in, and changes nothing for the other people. So nobody stays in because a line
/// cannot be read.
struct ConsolePeople: Sendable {
  private let byName: [ExactText: ConsolePerson]
  /// What cannot be used, and why. The texts show no line.
  let mistakes: [String]

  var count: Int { byName.count }

  subscript(name: String) -> ConsolePerson? { byName[name.exact] }

  /// The cost of the costliest password. Each look at a password costs as much, whoever is asked for.
  var costliestLogN: Int { byName.values.map(\.password.logN).max() ?? Scrypt.usualLogN }

  /// Nobody, because the file itself cannot be used.
  init(nobodyBecause mistake: String) { (byName, mistakes) = ([:], [mistake]) }

  /// Reads the file. Empty lines, and lines that begin with `#`, say nothing.
  init(_ text: String) {
    var byName: [ExactText: ConsolePerson] = [:]
    var (mistakes, twice): ([String], Set<ExactText>) = ([], [])
    // A carriage return and a line feed are one character.
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
    for (number, line) in lines.enumerated() {
      if line.allSatisfy({ $0 == " " }) || line.hasPrefix("#") { continue }
      guard let person = ConsolePerson(line: line) else {
        mistakes.append("line \(number + 1) cannot be read, expected \(ConsolePerson.form)")
        continue
      }
      if byName.updateValue(person, forKey: person.name.exact) != nil {
        // Nobody can tell which of them somebody meant.
        mistakes.append("line \(number + 1) has a name that an earlier line has, so neither counts")
        twice.insert(person.name.exact)
      }
    }
    if byName.isEmpty, mistakes.isEmpty {
      mistakes = ["has no line, expected at least one of \(ConsolePerson.form)"]
    }
    self.byName = byName.filter { !twice.contains($0.key) }
    self.mistakes = mistakes
  }
}
