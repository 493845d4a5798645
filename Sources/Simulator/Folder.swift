import Glibc

/// A folder for the simulator's files; a file is there whole or not at all.
struct Folder {
  let path: String

  /// Takes up the folder; creates it, with its parents, if it is missing.
  init(_ path: String, mode: mode_t = 0o755) throws {
    self.path = path
    var end = path.startIndex
    while end < path.endIndex {
      end = path[path.index(after: end)...].firstIndex(of: "/") ?? path.endIndex
      let part = String(path[..<end])
      guard mkdir(part, mode) == 0 || errno == EEXIST else { throw SimulatorError.system("create the folder \(part)") }
    }
  }

  /// Returns the bytes of a file, or `nil` when there is no such file.
  func read(_ name: String) throws -> [UInt8]? {
    let operation = "read \(path)/\(name)"
    let descriptor = open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw SimulatorError.system(operation)
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = Glibc.read(descriptor, &part, part.count)
      guard count >= 0 else { throw SimulatorError.system(operation) }
      guard count > 0 else { return bytes }
      bytes.append(contentsOf: part[..<count])
    }
  }

  /// Writes a temporary file and renames it, because workers may wait for the file to appear.
  func write(_ bytes: [UInt8], to name: String, mode: mode_t) throws {
    let operation = "write \(path)/\(name)"
    let draft = "\(path)/.\(name).new"
    unlink(draft)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw SimulatorError.system(operation) }
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { break }
      written += count
    }
    // The bytes must be on the disk before the new file replaces the old one.
    let isWhole = written == bytes.count && fsync(descriptor) == 0
    let failure = isWhole ? nil : SimulatorError.system(operation)
    close(descriptor)
    if let failure { throw failure }
    guard rename(draft, "\(path)/\(name)") == 0 else { throw SimulatorError.system(operation) }
  }
}
