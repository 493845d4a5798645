import FoundationEssentials
import Glibc
import Testing

/// A folder as Kubernetes mounts a ConfigMap: each file is a link through `..data`, which is a link, too.
struct MountedFolder {
  let path: String

  init(_ path: String) throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  /// Swaps the link to a new set of files.
  func put(_ version: Int, _ files: [String: String]) throws {
    try FileManager.default.createDirectory(atPath: "\(path)/..\(version)", withIntermediateDirectories: true)
    for (name, text) in files {
      try Data(text.utf8).write(to: URL(filePath: "\(path)/..\(version)/\(name)"))
    }
    symlink("..\(version)", "\(path)/..tmp")
    #expect(rename("\(path)/..tmp", "\(path)/..data") == 0)
    // In this order, so that no link leads to nothing meanwhile.
    for name in files.keys { symlink("..data/\(name)", "\(path)/\(name)") }
  }
}
