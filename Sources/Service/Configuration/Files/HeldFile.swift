import CLinux
import FoundationEssentials
import Glibc

/// A copy of a file in memory, under a path that stays the same.
///
/// libpq, libcurl and OpenSSL read certificates by their path, each time they connect. If they read the file itself, a
/// certificate that somebody writes at this moment, or a broken one, would break every new connection. The copy
/// changes only after the whole configuration was found usable.
public final class HeldFile {
  private let descriptor: Int32
  private var content: [UInt8]

  /// The path of the copy. It is good in this process only.
  public var path: String { "/proc/self/fd/\(descriptor)" }

  /// Copies a file.
  ///
  /// - Throws: `HeldFile.Failure` when it cannot be read or copied.
  public init(_ file: String) throws(Failure) {
    content = try Self.read(file)
    descriptor = try Self.copy(content, of: file)
  }

  deinit { close(descriptor) }

  /// A file that cannot be held.
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// Takes the present content of a file.
  ///
  /// Who has opened the path before goes on reading the old content.
  ///
  /// - Returns: whether it was another content.
  /// - Throws: ``Failure``, and then the old content stays.
  public func take(_ file: String) throws(Failure) -> Bool {
    let new = try Self.read(file)
    guard new != content else { return false }
    let copy = try Self.copy(new, of: file)
    defer { close(copy) }
    guard dup2(copy, descriptor) == descriptor, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
      throw Self.failure("copy", file)
    }
    content = new
    return true
  }

  private static func read(_ file: String) throws(Failure) -> [UInt8] {
    guard let data = try? Data(contentsOf: URL(filePath: file)) else { throw failure("read", file) }
    return Array(data)
  }

  private static func copy(_ content: [UInt8], of file: String) throws(Failure) -> Int32 {
    let descriptor = countersign_memory_file("countersign")
    guard descriptor >= 0 else { throw failure("copy", file) }
    var rest = content[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else {
        close(descriptor)
        throw failure("copy", file)
      }
      rest = rest.dropFirst(count)
    }
    return descriptor
  }

  private static func failure(_ verb: String, _ file: String) -> Failure {
    Failure(description: "\(verb) \(file): \(String(cString: strerror(errno)))")
  }
}
