import Glibc

/// Reads whole files by plain system calls: a look of a role with thousands of publishers' files reads all of them.
package enum FileBytes {
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
  package static func cause(_ path: String, _ kind: String = "file") -> String {
    look(path).map { cause(of: $0, kind) } ?? ""
  }

  /// What the system's code says about a file, as the end of a sentence.
  ///
  /// - Parameters:
  ///   - code: of `errno`, kept right after the failed call.
  ///   - kind: `file` or `folder`.
  package static func cause(of code: Int32, _ kind: String = "file") -> String {
    switch code {
    case ENOENT: ": there is no such \(kind)"
    case EACCES: ": the user with the id \(geteuid()) may not read it (permission denied)"
    case EISDIR where kind == "file": ": it is a folder"
    case EISDIR: ""
    case nameWithNUL: ": its name has a NUL"
    default: ": \(String(cString: strerror(code)))"
    }
  }

  /// Says that a file cannot be read: where it was looked for, why, and what to do.
  static func unreadable(_ path: String) -> String {
    let code = look(path)
    let place = path.hasPrefix("/") ? "" : " \(absolute(path))"
    let remedy =
      switch code {
      case ENOENT: "; check its path"
      case EACCES: "; let this user read the file, and enter each folder of its path"
      case EISDIR: "; name a file in it"
      default: ""
      }
    return "the file\(place) cannot be read\(code.map { cause(of: $0) } ?? "")\(remedy)"
  }

  /// No code of the system's.
  private static let nameWithNUL: Int32 = -1

  /// The system's code for a file that cannot be read; `nil` if it can be.
  private static func look(_ path: String) -> Int32? {
    guard !path.utf8.contains(0) else { return nameWithNUL }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return errno }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    return EISDIR
  }

  /// The path from the root of the file system.
  static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return "\(String(cString: folder))/\(path.dropFirst(path.hasPrefix("./") ? 2 : 0))"
  }
}
