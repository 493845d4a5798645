import Domain
import Formats
import JSON

/// Reads the configuration file and the publishers' files, and reports all mistakes together.
public struct ConfigurationLoader: Sendable {
  /// The path of the configuration file.
  public let file: String
  private let environment: [ExactText: String]
  let doors: [any ConfiguredDoor]
  /// The files that were read.
  public let files = ConfigurationFiles()

  /// - Parameters:
  ///   - file: the path of the configuration file.
  ///   - environment: variables named `COUNTERSIGN_…` override its keys.
  ///   - doors: those of this build; each has keys of its own.
  public init(file: String, environment: [String: String], doors: [any ConfiguredDoor]) {
    self.file = file
    self.doors = doors
    self.environment = Dictionary(environment.map { (ExactText($0.key), $0.value) }) { first, _ in first }
  }

  /// Reads the settings.
  ///
  /// - Parameter users: the commands whose own needs the loader checks too.
  /// - Throws: ``ConfigurationError`` with every mistake.
  public func settings(for users: Set<SettingsUser> = []) throws -> Settings {
    let reader = SettingsReader(
      source: file, root: try document(file, noting: files), environment: environment, folder: folder(of: file),
      files: files)
    let settings = Settings(reader, doors)
    reader.noteUnknownKeys()
    reader.noteUnusableParts(of: settings, for: users)
    guard reader.mistakes.isEmpty else { throw ConfigurationError(mistakes: reader.mistakes) }
    return settings
  }

  /// Says that a process cannot use the value of a key, and names the file or the variable of the value.
  public func mistake(_ key: String, _ problem: String) -> Mistake {
    Mistake(of: key, in: file, overriddenBy: environment, problem)
  }

  /// The readers of the objects in a list.
  func elements(_ key: String, of root: JSONValue, _ path: String, _ reader: SettingsReader) -> [SettingsReader] {
    guard let list = root[key.split(separator: ".").map(String.init)] else { return [] }
    guard case .array(let elements) = list else {
      reader.note(key, "is \(list.shape), expected an array of objects")
      return []
    }
    return elements.enumerated().map { index, element in
      SettingsReader(
        source: "\(path): \(key)[\(index)]", root: element, environment: nil, folder: folder(of: path),
        files: reader.files)
    }
  }

  /// Reads a file that holds a JSON object, and notes it.
  ///
  /// - Throws: ``ConfigurationError``.
  func document(_ path: String, noting files: ConfigurationFiles) throws(ConfigurationError) -> JSONValue {
    guard let bytes = files.read(path) else {
      throw single(path, "", FileBytes.unreadable(path))
    }
    let value: JSONValue
    do {
      value = try JSONText(bytes, limits: .own).decoded(as: JSONValue.self)
    } catch {
      guard let error = error as? JSONSyntaxError else { throw single(path, "", "is not JSON: \(error)") }
      let mistake = JSONMistake(error, in: bytes)
      if let key = error.repeatedMember {
        throw single(path, key, "appears twice in one object, the second time at \(mistake.place)")
      }
      throw single(path, "", "is not JSON: \(mistake)")
    }
    guard case .object = value else { throw single(path, "", "is \(value.shape), expected a JSON object") }
    return value
  }

  func single(_ source: String, _ key: String, _ problem: String) -> ConfigurationError {
    ConfigurationError(mistakes: [Mistake(source: source, key: key, problem: problem)])
  }

  func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return String(path[..<slash])
  }

  /// The settings of an empty configuration file.
  ///
  /// - Parameter doors: those of this build.
  public static func defaults(_ doors: [any ConfiguredDoor] = []) -> Settings {
    Settings(SettingsReader(source: "", root: .object([:]), environment: [:], folder: "."), doors)
  }

  /// Describes every key, for `docs/reference/configuration.md` and `check-config --describe`.
  ///
  /// - Parameter doors: those of this build.
  public static func reference(
    _ doors: [any ConfiguredDoor]
  ) -> (settings: [KeyDescription], publisher: [String: [KeyDescription]]) {
    func reader(_ environment: [ExactText: String]?) -> SettingsReader {
      SettingsReader(source: "", root: .object([:]), environment: environment, folder: ".")
    }
    let settings = reader([:])
    _ = Settings(settings, doors)
    let publisher = reader(nil)
    var lists = PublisherReader.Elements()
    for (_, list) in PublisherReader.Elements.lists { lists[keyPath: list] = [reader(nil)] }
    _ = PublisherReader(reader: publisher, addresses: WebhookAddress(), doors: doors).publisher(lists)
    var descriptions = ["": publisher.descriptions]
    for (key, list) in PublisherReader.Elements.lists {
      descriptions[key] = lists[keyPath: list].flatMap(\.descriptions)
    }
    return (settings.descriptions, descriptions)
  }
}
