public import Foundation

/// A folder with test data.
public struct Fixtures: Sendable {
  /// The path of the folder.
  public let folder: URL

  /// Data that was signed for the tests. It is part of the project, so that each clone judges it: `Tests/Fixtures`.
  public static let minted = Fixtures(folder: package.appending(path: "Tests/Fixtures", directoryHint: .isDirectory))

  /// Data that Apple has published. It is not part of the project.
  ///
  /// COUNTERSIGN_FIXTURES names the folder; without it, the folder is `../shared/fixtures` beside the package.
  public static let apple: Fixtures = {
    if let path = ProcessInfo.processInfo.environment["COUNTERSIGN_FIXTURES"], !path.isEmpty {
      return Fixtures(folder: URL(filePath: path, directoryHint: .isDirectory))
    }
    return Fixtures(folder: package.appending(path: "../shared/fixtures", directoryHint: .isDirectory))
  }()

  /// Whether Apple's data is there.
  public static var hasApples: Bool {
    ["apple", "receipts"].allSatisfy { FileManager.default.fileExists(atPath: apple.path($0)) }
  }

  /// The reason why a test is skipped.
  ///
  /// - Parameter what: the data that stays unchecked.
  public static func withoutApples(_ what: String) -> String {
    "\(what): skipped, as Apple's published data is not at \(apple.folder.path); set COUNTERSIGN_FIXTURES to its folder"
  }

  private static let package = URL(filePath: Repository.root, directoryHint: .isDirectory)

  /// A file's path.
  public func path(_ name: String) -> String { folder.appending(path: name).path }

  /// A file's bytes.
  public func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: folder.appending(path: name))) }

  /// A file's text without the line end at its end; other white space is part of the fixture.
  public func text(_ name: String) throws -> String {
    var text = String(decoding: try bytes(name), as: UTF8.self)
    if text.last?.isNewline == true { text.removeLast() }
    return text
  }

  /// A file's JSON.
  public func decoded<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(try bytes(name)))
  }
}
