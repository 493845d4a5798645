import Glibc

/// Reads whole files by plain system calls: a look of a role with thousands of publishers' files reads all of them.
enum FileBytes {
  /// Returns the content of a file; `nil` if it cannot be read. It blocks.
  static func read(_ path: String) -> [UInt8]? {
    // A name with a NUL would be cut there, and lead to another file.
    guard !path.utf8.contains(0) else { return nil }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    while true {
      var count = 0
      let part = [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, initialized in
        repeat { count = Glibc.read(descriptor, buffer.baseAddress, buffer.count) } while count < 0 && errno == EINTR
        initialized = max(0, count)
      }
      guard count >= 0 else { return nil }
      if count == 0 { return bytes }
      bytes = bytes.isEmpty ? part : bytes + part
    }
  }

  /// Why a file cannot be read, as the end of a sentence: `: there is no such file`. Nothing, if it can be read by now.
  ///
  /// - Parameter kind: `file` or `folder`.
  static func cause(_ path: String, _ kind: String = "file") -> String {
    guard !path.utf8.contains(0) else { return ": its name has a NUL" }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      switch errno {
      case ENOENT: return ": there is no such \(kind)"
      case EACCES: return ": the user with the id \(geteuid()) may not read it (permission denied)"
      case let code: return ": \(String(cString: strerror(code)))"
      }
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return "" }
    return kind == "file" ? ": it is a folder" : ""
  }
}
