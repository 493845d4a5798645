public import Foundation

/// Apple's public test data and minted signatures, which are not part of the project.
///
/// The folder is named by COUNTERSIGN_FIXTURES, or lies beside the package as `../shared/fixtures`.
public enum Fixtures {
  /// Why tests are skipped.
  public static let missing: String = "the fixtures are not at \(folder.path); set COUNTERSIGN_FIXTURES to their folder"

  /// Where they are.
  public static let folder: URL = {
    if let path = ProcessInfo.processInfo.environment["COUNTERSIGN_FIXTURES"], !path.isEmpty {
      return URL(filePath: path, directoryHint: .isDirectory)
    }
    let package = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    return package.appending(path: "../shared/fixtures", directoryHint: .isDirectory)
  }()

  /// Whether they are there.
  public static var arePresent: Bool { FileManager.default.fileExists(atPath: folder.appending(path: "jws").path) }

  /// A file's path.
  public static func path(_ name: String) -> String { folder.appending(path: name).path }

  /// A file's bytes.
  public static func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: folder.appending(path: name)))
  }

  /// A file's text without the line end that its file may close with; other white space is part of the fixture.
  public static func text(_ name: String) throws -> String {
    var text = String(decoding: try bytes(name), as: UTF8.self)
    if text.last?.isNewline == true { text.removeLast() }
    return text
  }

  /// A file's JSON.
  public static func decoded<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(try bytes(name)))
  }
}
