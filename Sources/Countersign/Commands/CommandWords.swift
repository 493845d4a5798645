import Configuration
import Ledger

/// The arguments of a command, read one after the other.
struct CommandWords {
  /// Arguments that a command cannot use.
  struct Refused: Error, CustomStringConvertible {
    let description: String
  }

  private var words: ArraySlice<String>

  init(_ words: [String]) { self.words = words[...] }

  /// Takes the next word.
  mutating func next() -> String? { words.popFirst() }

  /// Takes the value of an option.
  ///
  /// - Throws: ``Refused`` with what was expected.
  mutating func value<Value>(of option: String, _ expected: String, _ read: (String) -> Value?) throws -> Value {
    if let value = words.popFirst().flatMap(read) { return value }
    throw Refused(description: "\(option) needs \(expected)")
  }

  /// Takes the value of an option that has one of some names.
  ///
  /// - Throws: ``Refused`` with the names, the wrong one and the nearest.
  mutating func choice<Value>(of option: String, _ names: [String], _ read: (String) -> Value?) throws -> Value {
    let text = words.popFirst() ?? ""
    if let value = read(text) { return value }
    throw Refused(
      description: "\(option) needs one of: \(names.joined(separator: ", "))" + Self.not(text, among: names))
  }

  /// Takes the word behind the command, such as an action.
  ///
  /// - Parameters:
  ///   - kind: what it is, such as `an action`.
  ///   - command: whose word it is.
  /// - Throws: ``Refused``, as ``choice(of:_:_:)``.
  mutating func first<Choice: RawRepresentable & CaseIterable>(_ kind: String, for command: String) throws -> Choice
  where Choice.RawValue == String {
    let text = words.popFirst() ?? ""
    if let choice = Choice(rawValue: text) { return choice }
    let names = Choice.allCases.map(\.rawValue)
    let but = names.dropLast().joined(separator: ", ")
    let all = names.count > 1 ? "\(but) or \(names.last ?? "")" : names.joined()
    // An option stands there if the word is missing.
    let wrong = text.hasPrefix("-") ? "" : text
    throw Refused(description: "\(command) needs \(kind): \(all)" + Self.not(wrong, among: names))
  }

  /// The end of a refusal: the wrong name, and the one that was meant.
  private static func not(_ text: String, among names: [String]) -> String {
    text.isEmpty ? "" : ", not \(text)" + NearestName.question(text, among: names)
  }

  /// Takes a time: a whole number and `s`, `m` or `h`.
  mutating func time(of option: String) throws -> Duration {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600]
    return try value(of: option, "a time such as 90s, 15m or 2h") { text in
      guard let unit = text.last.flatMap({ units[$0] }), let number = Int64(text.dropLast()),
        (0...100_000_000).contains(number)
      else { return nil }
      return .seconds(number * unit)
    }
  }

  /// Takes the most things that a command lists or changes.
  mutating func limit(of option: String) throws -> Int {
    try value(of: option, "a number from 1 to 100000") { text in
      Int(text).flatMap { (1...100_000).contains($0) ? $0 : nil }
    }
  }

  /// Takes a text that is not empty.
  mutating func text(of option: String, _ expected: String) throws -> String {
    try value(of: option, expected) { $0.isEmpty ? nil : $0 }
  }

  /// Takes the name of an operator.
  mutating func operatorName(of option: String) throws -> String {
    try value(of: option, "the name of a person, 1 to 100 bytes") { OperatorAudit.defect(ofName: $0) == nil ? $0 : nil }
  }
}
