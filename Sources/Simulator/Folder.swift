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
      let made = mkdir(part, mode)
      let code = errno
      guard made == 0 || code == EEXIST else { throw SimulatorError.system("create the folder \(part)", code) }
    }
  }

  /// Returns the bytes of a file, or `nil` when there is no such file.
  func read(_ name: String) throws -> [UInt8]? {
    let operation = "read \(path)/\(name)"
    let file = "\(path)/\(name)"
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    let code = errno
    guard descriptor >= 0 else {
      if code == ENOENT { return nil }
      throw SimulatorError.system(operation, code)
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = Glibc.read(descriptor, &part, part.count)
      let code = errno
      guard count >= 0 else { throw SimulatorError.system(operation, code) }
      guard count > 0 else { return bytes }
      bytes.append(contentsOf: part[..<count])
    }
  }

  /// Writes a temporary file and renames it, because workers may wait for the file to appear.
  func write(_ bytes: [UInt8], to name: String, mode: mode_t) throws {
    let operation = "write \(path)/\(name)"
    let (file, draft) = ("\(path)/\(name)", "\(path)/.\(name).new")
    unlink(draft)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw SimulatorError.system(operation, errno) }
    var written = 0
    var failure: Int32?
    while written < bytes.count, failure == nil {
      let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      let code = errno
      if count > 0 { written += count } else { failure = code }
    }
    // The bytes must be on the disk before the new file replaces the old one.
    if failure == nil, fsync(descriptor) != 0 { failure = errno }
    close(descriptor)
    if let failure { throw SimulatorError.system(operation, failure) }
    let renamed = rename(draft, file)
    let code = errno
    guard renamed == 0 else { throw SimulatorError.system(operation, code) }
  }
}
