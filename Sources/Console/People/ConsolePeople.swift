import Formats

/// The people who may sign in.
struct ConsolePeople: Sendable {
  private let byName: [ExactText: ConsolePerson]

  var count: Int { byName.count }

  subscript(name: String) -> ConsolePerson? { byName[name.exact] }

  /// A file that cannot be used. The text shows no line.
  struct Unusable: Error, Equatable, CustomStringConvertible {
    let description: String
  }

  /// Reads the file. Empty lines, and lines that begin with `#`, say nothing.
  init(_ text: String) throws(Unusable) {
    var byName: [ExactText: ConsolePerson] = [:]
    // A carriage return and a line feed are one character.
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
    for (number, line) in lines.enumerated() {
      if line.allSatisfy({ $0 == " " }) || line.hasPrefix("#") { continue }
      guard let person = ConsolePerson(line: line) else {
        throw Unusable(description: "line \(number + 1) cannot be read, expected \(ConsolePerson.form)")
      }
      guard byName.updateValue(person, forKey: person.name.exact) == nil else {
        throw Unusable(description: "line \(number + 1) has a name that an earlier line has")
      }
    }
    guard !byName.isEmpty else {
      throw Unusable(description: "has no line, expected at least one of \(ConsolePerson.form)")
    }
    self.byName = byName
  }
}
