import Crypto
import Formats

/// The people who may sign in.
///
/// A line with a mistake lets nobody in, and changes nothing for the other people. So nobody stays in because a line
/// cannot be read.
struct ConsolePeople: FileLines {
  private let byName: [ExactText: ConsolePerson]
  /// What cannot be used, and why. The texts show no line.
  let mistakes: [String]

  /// The names of all lines, including lines that let nobody in, in small letters; `nil` if the file cannot be read.
  private let taken: Set<ExactText>?

  var count: Int { byName.count }

  /// Whether a name belongs to the file, and so to nobody else; `nil` if nobody can tell.
  func hasTaken(_ name: String) -> Bool? { taken?.contains(ExactText(name.lowercased())) }

  subscript(name: String) -> ConsolePerson? { byName[name] }

  /// The cost of the costliest password. Each look at a password costs as much, whoever is asked for.
  var costliestLogN: Int { byName.values.compactMap(\.password?.logN).max() ?? Scrypt.usualLogN }

  /// Nobody, because no file is named.
  init() { (byName, mistakes, taken) = ([:], [], []) }

  /// Nobody, because the file itself cannot be used.
  init(nobodyBecause mistake: String) { (byName, mistakes, taken) = ([:], [mistake], nil) }

  /// Reads the file. Empty lines, and lines that begin with `#`, say nothing.
  init(_ text: String) {
    var byName: [ExactText: ConsolePerson] = [:]
    var (mistakes, twice, taken): ([String], Set<ExactText>, Set<ExactText>) = ([], [], [])
    // A carriage return and a line feed are one character.
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
    for (number, line) in lines.enumerated() {
      if line.allSatisfy({ $0 == " " }) || line.hasPrefix("#") { continue }
      if let name = line.split(separator: " ").first { taken.insert(ExactText(name.lowercased())) }
      guard let person = ConsolePerson(line: line) else {
        mistakes.append("line \(number + 1) cannot be read, expected \(ConsolePerson.form)")
        continue
      }
      if byName.updateValue(person, forKey: ExactText(person.name)) != nil {
        // Nobody can tell which of them somebody meant.
        mistakes.append("line \(number + 1) has a name that an earlier line has, so neither counts")
        twice.insert(ExactText(person.name))
      }
    }
    if byName.isEmpty, mistakes.isEmpty {
      mistakes = ["has no line, expected at least one of \(ConsolePerson.form)"]
    }
    self.byName = byName.filter { !twice.contains($0.key) }
    self.mistakes = mistakes
    self.taken = taken
  }
}
