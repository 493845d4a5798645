package import Configuration
package import Domain
import FoundationEssentials

/// A folder of configuration files for one test, removed with this object.
package final class ConfigurationFolder {
  package let path: String
  /// The doors whose settings the files may have.
  private let doors: [any ConfiguredDoor]

  package init(doors: [any ConfiguredDoor] = []) throws {
    self.doors = doors
    path = FileManager.default.temporaryDirectory.appending(path: "countersign-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path + "/publishers", withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file, named relative to the folder.
  package func write(_ text: String, to name: String) throws { try write(Array(text.utf8), to: name) }

  package func write(_ bytes: [UInt8], to name: String) throws { try Self.write(bytes, to: path + "/" + name) }

  /// Writes a file at a path, also from another thread.
  package static func write(_ bytes: [UInt8], to path: String) throws { try Data(bytes).write(to: URL(filePath: path)) }

  /// Reads a file; `nil` if it is not there.
  package func read(_ name: String) -> [UInt8]? {
    (try? Data(contentsOf: URL(filePath: path + "/" + name))).map(Array.init)
  }

  package func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path + "/" + name) }

  package func loader(
    _ environment: [String: String] = [:], doors: [any ConfiguredDoor]? = nil
  ) -> ConfigurationLoader {
    ConfigurationLoader(file: path + "/countersign.json", environment: environment, doors: doors ?? self.doors)
  }

  /// Reads the settings from a text.
  package func settings(_ text: String = "{}", _ environment: [String: String] = [:]) throws -> Settings {
    try write(text, to: "countersign.json")
    return try loader(environment).settings()
  }

  /// Returns the mistakes in the settings, each as `source: key: problem` without the folder.
  package func mistakes(_ text: String, _ environment: [String: String] = [:], for users: Set<SettingsUser> = []) throws
    -> [String]
  {
    try write(text, to: "countersign.json")
    return mistakes { _ = try self.loader(environment).settings(for: users) }
  }

  package func publishers() throws -> Publishers { try loader().publishers(in: path + "/publishers") }

  package func publisherMistakes() -> [String] { mistakes { _ = try self.publishers() } }

  /// Returns the mistakes that a body throws, each as `source: key: problem` without the folder.
  package func mistakes(_ body: () throws -> Void) -> [String] {
    do {
      try body()
      return []
    } catch let error as ConfigurationError {
      return error.mistakes.map { $0.description.replacing(path + "/", with: "").replacing(path, with: "") }
    } catch {
      return ["\(error)"]
    }
  }
}
