import Formats
import FoundationEssentials
import JSON

/// Reads a configuration key by key, notes every mistake and goes on, so that all of them are told at once.
///
/// The same calls that read a key describe it, so the reference cannot miss one.
final class SettingsReader {
  private(set) var mistakes: [Mistake] = []
  private(set) var descriptions: [KeyDescription] = []

  private let source: String
  private let root: JSONValue
  private let environment: [String: String]?
  private let folder: String
  private var known: Set<String> = []

  /// - Parameters:
  ///   - environment: variables that override keys; `nil` where none do.
  ///   - folder: relative paths in the file start here.
  init(source: String, root: JSONValue, environment: [String: String]?, folder: String) {
    self.source = source
    self.root = root
    self.environment = environment
    self.folder = folder
  }

  // MARK: Kinds of values

  func string(_ key: String, _ fallback: String?, _ meaning: String) -> String {
    read(key, fallback, fallback.map { "`\($0)`" }, meaning, "a string") {
      if case .string(let text) = $0, !text.isEmpty { text } else { nil }
    } ?? ""
  }

  func optionalString(_ key: String, _ meaning: String) -> String? {
    let text = read(key, "", "none", meaning, "a string") { if case .string(let text) = $0 { text } else { nil } }
    return text.flatMap { $0.isEmpty ? nil : $0 }
  }

  func int(_ key: String, _ fallback: Int64?, _ range: ClosedRange<Int64>, _ meaning: String) -> Int64 {
    let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
    return read(key, fallback, fallback.map { "`\($0)`" }, meaning, expected) {
      guard let number = Self.number($0), number == number.rounded(), abs(number) < 9e15 else { return nil }
      return range.contains(Int64(number)) ? Int64(number) : nil
    } ?? range.lowerBound
  }

  func seconds(_ key: String, _ fallback: Double, _ range: ClosedRange<Double>, _ meaning: String) -> Duration {
    let seconds = read(
      key, fallback, "`\(Self.plain(fallback))`", meaning,
      "seconds from \(Self.plain(range.lowerBound)) to \(Self.plain(range.upperBound))"
    ) {
      Self.number($0).flatMap { range.contains($0) ? $0 : nil }
    }
    return .milliseconds(Int64(((seconds ?? fallback) * 1000).rounded()))
  }

  func factor(_ key: String, _ fallback: Double, _ range: ClosedRange<Double>, _ meaning: String) -> Double {
    read(
      key, fallback, "`\(Self.plain(fallback))`", meaning,
      "a number from \(Self.plain(range.lowerBound)) to \(Self.plain(range.upperBound))"
    ) {
      Self.number($0).flatMap { range.contains($0) ? $0 : nil }
    } ?? fallback
  }

  func bool(_ key: String, _ fallback: Bool, _ meaning: String) -> Bool {
    read(key, fallback, "`\(fallback)`", meaning, "true or false") {
      switch $0 {
      case .bool(let flag): flag
      case .string("true"): true
      case .string("false"): false
      default: nil
      }
    } ?? fallback
  }

  func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, _ fallback: Choice, _ meaning: String) -> Choice
  where Choice.RawValue == String {
    let expected = "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", ")
    return read(key, fallback, "`\(fallback.rawValue)`", meaning, expected) {
      if case .string(let text) = $0 { Choice(rawValue: text) } else { nil }
    } ?? fallback
  }

  /// A list; in an environment variable its elements stand between commas.
  func strings(_ key: String, _ fallback: [String]?, _ meaning: String) -> [String] {
    read(
      key, fallback, fallback.map { $0.isEmpty ? "none" : "`\($0.joined(separator: ","))`" }, meaning,
      "a list of strings"
    ) { value in
      switch value {
      case .string(let text): Self.elements(text)
      case .array(let elements):
        elements.reduce(into: [String]?.some([])) { list, element in
          if case .string(let text) = element, !text.isEmpty { list?.append(text) } else { list = nil }
        }
      default: nil
      }
    } ?? []
  }

  func secondsList(_ key: String, _ fallback: [Double], _ meaning: String) -> [Duration] {
    let list = read(
      key, fallback, "`\(fallback.map(Self.plain).joined(separator: ","))`", meaning,
      "a list of seconds from 0.001 to 604800"
    ) { value -> [Double]? in
      let elements: [JSONValue] =
        switch value {
        case .string(let text): Self.elements(text).map { .string($0) }
        case .array(let elements): elements
        default: []
        }
      let numbers = elements.compactMap(Self.number).filter { (0.001...604_800).contains($0) }
      return numbers.isEmpty || numbers.count != elements.count ? nil : numbers
    }
    return (list ?? fallback).map { .milliseconds(Int64(($0 * 1000).rounded())) }
  }

  /// A path, relative to the file's folder.
  func path(_ key: String, _ fallback: String?, _ meaning: String) -> String { resolve(string(key, fallback, meaning)) }

  func optionalPath(_ key: String, _ meaning: String) -> String? { optionalString(key, meaning).map(resolve) }

  /// The text of a file that holds a secret, without the line end; the configuration itself never holds one.
  func secret(_ key: String, isRequired: Bool, _ meaning: String) -> String? {
    guard let path = isRequired ? path(key, nil, meaning) : optionalPath(key, meaning), path != folder + "/" else {
      return nil
    }
    guard let data = try? Data(contentsOf: URL(filePath: path)), let text = String(data: data, encoding: .utf8) else {
      note(key, "the file \(path) cannot be read")
      return nil
    }
    return String(text.reversed().drop { $0.isNewline }.reversed())
  }

  func resolve(_ path: String) -> String { path.hasPrefix("/") ? path : folder + "/" + path }

  // MARK: Mistakes

  /// Notes what is wrong with a key, and names the variable when that is where the value came from.
  func note(_ key: String, _ problem: String) {
    let variable = Self.variable(key)
    if environment?[variable] != nil {
      mistakes.append(Mistake(source: "environment", key: variable, problem: problem))
    } else {
      mistakes.append(Mistake(source: source, key: key, problem: problem))
    }
  }

  /// Notes every key of the file that nobody has read: a typing error would otherwise be silence.
  func noteUnknownKeys(except read: Set<String> = []) {
    known.formUnion(read)
    for (path, value) in leaves(root, []) {
      let key = path.joined(separator: ".")
      // A key that is written with its dots, in one level, is read by nobody either.
      let isRead = !path.contains { $0.contains(".") } && known.contains { key == $0 || key.hasPrefix($0 + ".") }
      guard !isRead else { continue }
      let isSection = known.contains { $0.hasPrefix(key + ".") }
      if isSection, value == .null || value == .object([:]) { continue }
      let problem = isSection ? "is \(value.kind), expected an object" : "is no key of this file"
      mistakes.append(Mistake(source: source, key: key, problem: problem))
    }
    guard let environment else { return }
    let variables = Set(known.map(Self.variable))
    for name in environment.keys.sorted() where name.hasPrefix("COUNTERSIGN_") && !variables.contains(name) {
      guard !Self.foreignVariables.contains(where: name.hasPrefix) else { continue }
      mistakes.append(Mistake(source: "environment", key: name, problem: "overrides no key"))
    }
  }

  /// Variables of the scripts and the tests, which a role started by them inherits.
  private static let foreignVariables = ["COUNTERSIGN_TEST_", "COUNTERSIGN_FIXTURES"]

  // MARK: Reading

  private func read<Value>(
    _ key: String, _ fallback: Value?, _ shown: String?, _ meaning: String, _ expected: String,
    _ convert: (JSONValue) -> Value?
  ) -> Value? {
    known.insert(key)
    let variable = environment == nil ? nil : Self.variable(key)
    descriptions.append(
      KeyDescription(key: key, variable: variable, fallback: shown ?? "required", meaning: meaning))
    if let variable, let text = environment?[variable] {
      if let value = convert(.string(text)) { return value }
      mistakes.append(Mistake(source: "environment", key: variable, problem: "is \"\(text)\", expected \(expected)"))
      return fallback
    }
    guard let found = root[key.split(separator: ".").map(String.init)], found != .null else {
      if fallback == nil { note(key, "is missing, expected \(expected)") }
      return fallback
    }
    if let value = convert(found) { return value }
    note(key, "is \(found.kind), expected \(expected)")
    return fallback
  }

  private func leaves(_ value: JSONValue, _ path: [String]) -> [(path: [String], value: JSONValue)] {
    guard case .object(let members) = value, !members.isEmpty else { return path.isEmpty ? [] : [(path, value)] }
    return members.sorted { $0.key < $1.key }.flatMap { leaves($0.value, path + [$0.key.text]) }
  }

  /// What stands between the commas, without the spaces around it.
  private static func elements(_ text: String) -> [String] {
    text.split(separator: ",").map { element in
      String(element.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }.filter { !$0.isEmpty }
  }

  /// `appStore.productionURL` becomes `COUNTERSIGN_APP_STORE_PRODUCTION_URL`.
  static func variable(_ key: String) -> String {
    var name = "COUNTERSIGN_"
    var previous: Character = "."
    for character in key {
      if character == "." {
        name.append("_")
      } else {
        if character.isUppercase, previous.isLowercase { name.append("_") }
        name.append(contentsOf: character.uppercased())
      }
      previous = character
    }
    return name
  }

  private static func number(_ value: JSONValue) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .number(let number): number
    case .string(let text): Double(text)
    default: nil
    }
  }

  private static func plain(_ number: Double) -> String {
    number == number.rounded() ? "\(Int64(number))" : "\(number)"
  }
}
