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
}
