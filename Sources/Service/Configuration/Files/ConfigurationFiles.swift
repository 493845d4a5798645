import Crypto
import EventLoop
import FoundationEssentials

/// The files that a configuration was read from, each with a digest of its content.
///
/// A mounted ConfigMap swaps a link, keeps the times of its files, and sends no signal. So only the content tells
/// whether something has changed.
public final class ConfigurationFiles: Sendable {
  private let contents: Guarded

  /// Creates an empty set.
  public init() { contents = Guarded() }

  /// Reads a file and remembers its content; `nil` if it cannot be read, which is remembered, too.
  func read(_ path: String) -> Data? {
    let data = try? Data(contentsOf: URL(filePath: path))
    contents.note(path, Self.digest(data))
    return data
  }

  /// Lists the names in a folder and remembers them.
  ///
  /// - Throws: the system's error.
  func names(in folder: String) throws -> [String] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }.sorted()
    contents.noteFolder(folder, names)
    return names
  }

  /// Whether a file has another content now, or a folder has other files. It reads them, so it blocks.
  public var haveChanged: Bool {
    let (files, folders) = contents.all
    if folders.contains(where: { folder, names in
      names != (try? FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }.sorted())
    }) {
      return true
    }
    return files.contains { path, digest in Self.digest(try? Data(contentsOf: URL(filePath: path))) != digest }
  }

  private static func digest(_ data: Data?) -> [UInt8] { data.map { SHA256.hash(Array($0)) } ?? [] }
}

/// What a reader has noted. A pool thread reads the files, and the loop asks for changes.
private final class Guarded: @unchecked Sendable {
  // Sendable is right: both dictionaries are touched under the lock only.
  private let lock = Lock()
  private var files: [String: [UInt8]] = [:]
  private var folders: [String: [String]] = [:]

  func note(_ path: String, _ digest: [UInt8]) { lock.withLock { files[path] = digest } }

  func noteFolder(_ path: String, _ names: [String]) { lock.withLock { folders[path] = names } }

  var all: (files: [String: [UInt8]], folders: [String: [String]]) { lock.withLock { (files, folders) } }
}
