import Crypto
import EventLoop
import Formats
import FoundationEssentials

/// The files that a configuration was read from, each with a digest of its content.
///
/// A mounted ConfigMap swaps a link, keeps the times of its files, and sends no signal. So only the content tells
/// whether something has changed.
public final class ConfigurationFiles: Sendable {
  private let contents: NotedContents

  /// Creates an empty set.
  public init() { contents = NotedContents() }

  /// Reads a file and remembers its content; `nil` if it cannot be read, which is remembered, too.
  func read(_ path: String) -> [UInt8]? {
    let bytes = FileBytes.read(path)
    contents.note(path, Self.digest(bytes))
    return bytes
  }

  /// Takes note of what another set has read.
  func note(_ other: ConfigurationFiles) {
    for (path, digest) in other.all { contents.note(path.text, digest) }
  }

  /// Takes note of files if all of them still have these digests. It reads those not yet read for this set.
  ///
  /// - Parameter digests: as in ``all``.
  /// - Returns: whether they have.
  func note(ifUnchanged digests: [ExactText: [UInt8]]) -> Bool {
    var new: [(path: String, digest: [UInt8])] = []
    for (path, digest) in digests.map({ ($0.key.text, $0.value) }) {
      if let known = contents.digest(of: path) {
        guard known == digest else { return false }
      } else {
        guard Self.digest(FileBytes.read(path)) == digest else { return false }
        new.append((path, digest))
      }
    }
    for (path, digest) in new { contents.note(path, digest) }
    return true
  }

  /// The SHA-256 of each file by its path; empty for one that could not be read.
  var all: [ExactText: [UInt8]] { contents.all.files }

  /// Lists the names in a folder and remembers them.
  ///
  /// - Throws: the system's error.
  func names(in folder: String) throws -> [String] {
    do {
      let names = try Self.names(in: folder)
      contents.noteFolder(folder, names)
      return names
    } catch {
      // It may be there at the next look.
      contents.noteFolder(folder, nil)
      throw error
    }
  }

  /// Whether a file had another content when another set was read.
  public func differ(from other: ConfigurationFiles, at path: String) -> Bool {
    contents.all.files[path] != other.contents.all.files[path]
  }

  /// The SHA-256 of each file that could be read, by its path.
  var digests: [ExactText: [UInt8]] { contents.all.files.filter { !$0.value.isEmpty } }

  /// Whether a file has another content now, or a folder has other files. It reads them, so it blocks.
  public var haveChanged: Bool {
    let (files, folders) = contents.all
    if folders.contains(where: { folder, names in !names.isExactly(try? Self.names(in: folder.text)) }) { return true }
    return files.contains { path, digest in Self.digest(FileBytes.read(path.text)) != digest }
  }

  private static func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }.sorted()
  }

  private static func digest(_ bytes: [UInt8]?) -> [UInt8] { bytes.map { SHA256.hash($0) } ?? [] }
}

/// What a reader has noted. A pool thread reads the files, and the loop asks for changes.
private final class NotedContents: @unchecked Sendable {
  // Sendable is right: both dictionaries are touched under the lock only.
  private let lock = Lock()
  private var files: [ExactText: [UInt8]] = [:]
  private var folders: [ExactText: [String]?] = [:]

  func note(_ path: String, _ digest: [UInt8]) { lock.withLock { files[path] = digest } }

  func digest(of path: String) -> [UInt8]? { lock.withLock { files[path] } }

  func noteFolder(_ path: String, _ names: [String]?) { lock.withLock { folders[path] = .some(names) } }

  var all: (files: [ExactText: [UInt8]], folders: [ExactText: [String]?]) { lock.withLock { (files, folders) } }
}
