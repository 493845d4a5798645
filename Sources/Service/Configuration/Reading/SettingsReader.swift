import Formats
import FoundationEssentials
import JSON

/// Reads a configuration key by key, notes every mistake and goes on. So one error reports all mistakes.
///
/// The same calls that read a key describe it, so the reference cannot miss one.
final class SettingsReader {
  private(set) var mistakes: [Mistake] = []
  private(set) var descriptions: [KeyDescription] = []
  /// What was set, but for secrets, in the order of the calls.
  private(set) var stated: [StatedSetting] = []

  private let source: String
  private let root: JSONValue
  private let environment: [ExactText: String]?
  private let folder: String
  let files: ConfigurationFiles
  private var known: Set<String> = []

  /// - Parameters:
  ///   - environment: variables that override keys; `nil` when no variable can.
  ///   - folder: relative paths in the file start here.
  ///   - files: takes note of each file that is read.
  init(
    source: String, root: JSONValue, environment: [ExactText: String]?, folder: String,
    files: ConfigurationFiles = ConfigurationFiles()
  ) {
    self.source = source
    self.root = root
    self.environment = environment
    self.folder = folder
    self.files = files
  }

  // MARK: Kinds of values

  /// - Parameter isSecret: whether the value may be a secret, put there by mistake or not. The reader never shows it.
  func string(_ key: String, _ fallback: String?, _ meaning: String, isSecret: Bool = false) -> String {
    let form = Form(expected: "a string", isSecret: isSecret) {
      $0.string
    } text: {
      $0.isEmpty ? nil : $0
    }
    return read(key, fallback, fallback.map { "`\($0)`" }, meaning, form) ?? ""
  }

  /// - Parameter shown: the default as a person would write it.
  func optionalString(_ key: String, _ meaning: String, isSecret: Bool = false, shown: String = "none") -> String? {
    let form = Form<String>(expected: "a string", isSecret: isSecret) { value in
      if case .string(let text) = value { text } else { nil }
    } text: {
      $0
    }
    return read(key, "", shown, meaning, form).flatMap { $0.isEmpty ? nil : $0 }
  }

  func int(_ key: String, _ fallback: Int64?, _ range: ClosedRange<Int64>, _ meaning: String) -> Int64 {
    let form = Form<Int64>(number: "a whole number from \(range.lowerBound) to \(range.upperBound)") { number in
      guard number == number.rounded(), abs(number) < 9e15 else { return nil }
      return range.contains(Int64(number)) ? Int64(number) : nil
    }
    return read(key, fallback, fallback.map { "`\($0)`" }, meaning, form) ?? range.lowerBound
  }

  func seconds(_ key: String, _ fallback: Double, _ range: ClosedRange<Double>, _ meaning: String) -> Duration {
    .milliseconds(Int64((number(key, of: "seconds", fallback, range, meaning) * 1000).rounded()))
  }

  func factor(_ key: String, _ fallback: Double, _ range: ClosedRange<Double>, _ meaning: String) -> Double {
    number(key, of: "a number", fallback, range, meaning)
  }

  private func number(
    _ key: String, of kind: String, _ fallback: Double, _ range: ClosedRange<Double>, _ meaning: String
  ) -> Double {
    let form = Form<Double>(number: "\(kind) from \(Self.plain(range.lowerBound)) to \(Self.plain(range.upperBound))") {
      range.contains($0) ? $0 : nil
    }
    return read(key, fallback, "`\(Self.plain(fallback))`", meaning, form) ?? fallback
  }

  func bool(_ key: String, _ fallback: Bool, _ meaning: String) -> Bool {
    let form = Form<Bool>(expected: "true or false") { value in
      if case .bool(let flag) = value { flag } else { nil }
    } text: { text in
      text == "true" ? true : text == "false" ? false : nil
    }
    return read(key, fallback, "`\(fallback)`", meaning, form) ?? fallback
  }

  /// - Parameter shown: the default as a person would write it, if it is not always the same.
  func choice<Choice: RawRepresentable & CaseIterable>(
    _ key: String, _ fallback: Choice, _ meaning: String, shown: String? = nil
  ) -> Choice where Choice.RawValue == String {
    let expected = "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", ")
    let form = Form<Choice>(expected: expected) {
      $0.string.flatMap(Choice.init(rawValue:))
    } text: {
      Choice(rawValue: $0)
    }
    return read(key, fallback, shown ?? "`\(fallback.rawValue)`", meaning, form) ?? fallback
  }

  /// A list. In an environment variable, commas separate its elements.
  func strings(_ key: String, _ fallback: [String]?, _ meaning: String, isSecret: Bool = false) -> [String] {
    let form = Form<[String]>(expected: "a list of strings", isSecret: isSecret) { value in
      guard case .array(let elements) = value else { return nil }
      let texts = elements.compactMap(\.string)
      return texts.count == elements.count ? texts : nil
    } text: {
      Self.elements($0)
    }
    let shown = fallback.map { $0.isEmpty ? "none" : "`\($0.joined(separator: ","))`" }
    return read(key, fallback, shown, meaning, form) ?? []
  }

  func secondsList(_ key: String, _ fallback: [Double], _ meaning: String) -> [Duration] {
    func checked(_ numbers: [Double?]) -> [Double]? {
      let good = numbers.compactMap(\.self).filter { (0.001...604_800).contains($0) }
      return good.isEmpty || good.count != numbers.count ? nil : good
    }
    let form = Form<[Double]>(expected: "a list of seconds from 0.001 to 604800") { value in
      if case .array(let elements) = value { checked(elements.map(\.number)) } else { nil }
    } text: {
      checked(Self.elements($0).map { Double($0) })
    }
    let list = read(key, fallback, "`\(fallback.map(Self.plain).joined(separator: ","))`", meaning, form)
    return (list ?? fallback).map { .milliseconds(Int64(($0 * 1000).rounded())) }
  }

  /// A path, relative to the file's folder.
  func path(_ key: String, _ fallback: String?, _ meaning: String) -> String { resolve(string(key, fallback, meaning)) }

  func optionalPath(_ key: String, _ meaning: String) -> String? { optionalString(key, meaning).map(resolve) }

  /// The password of a file; `nil` if the key names none.
  func password(_ key: String, _ meaning: String) -> String? {
    let password = secret(key, isRequired: false, meaning)
    // Somebody is writing it, or the disk was full.
    if password?.isEmpty == true { note(key, "the file that it names is empty") }
    return password
  }

  /// The text of a file that holds a secret, without the line end. The configuration itself never holds a secret.
  func secret(_ key: String, isRequired: Bool, _ meaning: String) -> String? {
    let name =
      isRequired ? string(key, nil, meaning, isSecret: true) : optionalString(key, meaning, isSecret: true) ?? ""
    guard !name.isEmpty else { return nil }
    let path = resolve(name)
    guard let bytes = files.read(path) else {
      note(key, Self.unreadable(path))
      return nil
    }
    guard var text = String(validating: bytes, as: UTF8.self) else {
      note(key, "the file that it names is not a text in UTF-8")
      return nil
    }
    while text.last?.isNewline == true { text.removeLast() }
    return text
  }

  /// Says where the reader looked for a secret's file.
  ///
  /// The last part of the path may be the secret itself, put there by mistake. If the folder does not exist, the whole
  /// path may be the secret.
  static func unreadable(_ path: String) -> String {
    let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    let place = FileManager.default.fileExists(atPath: folder) ? "; it was looked for in \(folder)" : ""
    return "the file that it names cannot be read" + FileBytes.cause(path) + place
  }

  func resolve(_ path: String) -> String { path.hasPrefix("/") ? path : folder + "/" + path }

  // MARK: Mistakes

  /// Notes a mistake of a key, and names the variable if the value came from one.
  func note(_ key: String, _ problem: String) {
    mistakes.append(Mistake(of: key, in: source, overriddenBy: environment ?? [:], problem))
  }

  /// Notes every key of the file that no call has read. Otherwise nobody would notice a typing error.
  func noteUnknownKeys(except read: Set<String> = []) {
    known.formUnion(read)
    let names = namesWithSections
    for (path, value) in leaves(root, []) {
      let key = path.joined(separator: ".")
      // No call reads a key that is written with its dots, in one level, either.
      let isRead =
        !path.contains { $0.contains(".") }
        && known.contains { key.isExactly($0) || key.utf8.starts(with: ($0 + ".").utf8) }
      guard !isRead else { continue }
      let isSection = known.contains { $0.hasPrefix(key + ".") }
      if isSection, value == .null || value == .object([:]) { continue }
      let problem =
        isSection
        ? "is \(value.shape), expected an object"
        : "is no key of this file" + (known.containsExactly(key) ? "" : NearestName.question(key, among: names))
      mistakes.append(Mistake(source: source, key: key, problem: problem))
    }
    guard let environment else { return }
    let variables = Set(known.map { ExactText(Self.variable($0)) })
    let strangers = environment.keys.filter { $0.text.hasPrefix("COUNTERSIGN_") && !variables.contains($0) }
    for name in strangers.sorted().map(\.text) {
      guard !Self.foreignVariables.contains(where: name.hasPrefix) else { continue }
      let question = NearestName.question(name, among: known.map(Self.variable).sorted())
      mistakes.append(Mistake(source: "environment", key: name, problem: "overrides no key" + question))
    }
  }

  /// Notes every member of an object in a list that is not a known one.
  func noteUnknownMembers(of object: [ExactText: JSONValue], at key: String, except known: [String]) {
    for name in object.keys.sorted().map(\.text) where !known.containsExactly(name) {
      note("\(key).\(name)", "is no key of this file" + NearestName.question(name, among: known))
    }
  }

  /// The known keys and their sections: an empty section may have a wrong name, too.
  private var namesWithSections: [String] {
    let sections = known.flatMap { key in
      key.indices.filter { key[$0] == "." }.map { String(key.prefix(upTo: $0)) }
    }
    return known.union(sections).sorted()
  }

  /// Variables of the scripts and the tests. A role that they start inherits these.
  private static let foreignVariables = ["COUNTERSIGN_TEST_", "COUNTERSIGN_FIXTURES"]

  // MARK: Reading

  /// Reads a value of any form; `nil` after a mistake without a fallback.
  func read<Value>(
    _ key: String, _ fallback: Value?, _ shown: String?, _ meaning: String, _ form: Form<Value>
  ) -> Value? {
    known.insert(key)
    let variable = environment == nil ? nil : Self.variable(key)
    descriptions.append(
      KeyDescription(
        key: key, variable: variable, expected: form.expected, fallback: shown ?? "required", meaning: meaning,
        isSecret: form.isSecret))
    if let variable, let text = environment?[variable] {
      if let value = form.text(text) {
        if !form.isSecret { stated.append(StatedSetting(key, text, shown: shown ?? "required")) }
        return value
      }
      note(key, form.isSecret ? "expected \(form.expected)" : "is \"\(text)\", expected \(form.expected)")
      return fallback
    }
    guard let found = root[key.split(separator: ".").map(String.init)], found != .null else {
      if fallback == nil { note(key, "is missing, expected \(form.expected)") }
      return fallback
    }
    if let value = form.json(found) {
      if !form.isSecret, let text = found.asText {
        stated.append(StatedSetting(key, text, shown: shown ?? "required"))
      }
      return value
    }
    note(key, "is \(form.isSecret ? found.shape : found.kind), expected \(form.expected)")
    return fallback
  }

  private func leaves(_ value: JSONValue, _ path: [String]) -> [(path: [String], value: JSONValue)] {
    guard case .object(let members) = value, !members.isEmpty else { return path.isEmpty ? [] : [(path, value)] }
    return members.sorted { $0.key < $1.key }.flatMap { leaves($0.value, path + [$0.key.text]) }
  }

  /// The texts between the commas, without the spaces around them.
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

  private static func plain(_ number: Double) -> String {
    number == number.rounded() ? "\(Int64(number))" : "\(number)"
  }
}
