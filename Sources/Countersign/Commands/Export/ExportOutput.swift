import Glibc

/// Where an export goes: standard output or a file. It writes at once, and blocks while the other side does not read.
struct ExportOutput {
  /// Why a file or a pipe does not take what is written.
  struct Failure: Error, CustomStringConvertible {
    let description: String

    /// - Parameters:
    ///   - action: what was tried, such as `open`.
    ///   - code: of `errno`, kept right after the failed call.
    init(_ action: String, _ name: String, _ code: Int32) {
      description = "cannot \(action) \(name): \(String(cString: strerror(code)))"
    }
  }

  private let descriptor: Int32
  private let name: String
  /// The name that the file gets once it is whole; `nil` if it has its name.
  private var wholeName: String?

  /// Standard output.
  static let standard = ExportOutput(descriptor: STDOUT_FILENO, name: "standard output")

  private init(descriptor: Int32, name: String) { (self.descriptor, self.name) = (descriptor, name) }

  /// Opens a file that only its owner may read: an export tells about people.
  ///
  /// - Throws: ``Failure``.
  init(file: String, flags: Int32) throws {
    descriptor = open(file, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0o600)
    let code = errno
    name = file
    guard descriptor >= 0 else { throw Failure("open", file, code) }
  }

  /// Opens a file that has its name only once it is whole. Until then it is `FILE.part`.
  ///
  /// - Parameter file: `nil` means standard output.
  /// - Throws: ``Failure``.
  static func whole(_ file: String?) throws -> ExportOutput {
    guard let file else { return .standard }
    var output = try ExportOutput(file: file + ".part", flags: O_TRUNC)
    output.wholeName = file
    return output
  }

  /// Writes all of the bytes.
  ///
  /// - Throws: ``Failure``.
  func write(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      let code = errno
      if count < 0, code == EINTR { continue }
      guard count > 0 else { throw Failure("write to", name, code) }
      rest = rest.dropFirst(count)
    }
  }

  /// Lets the disk have all that was written, closes the file, and gives it its name.
  ///
  /// - Throws: ``Failure``.
  func finish() throws {
    guard descriptor != STDOUT_FILENO else { return }
    // A pipe or a device has nothing to keep.
    if fsync(descriptor) != 0 {
      let code = errno
      if code != EINVAL, code != EROFS { throw Failure("write to", name, code) }
    }
    guard close(descriptor) == 0 else { throw Failure("close", name, errno) }
    if let wholeName, rename(name, wholeName) != 0 { throw Failure("rename", name, errno) }
  }
}
