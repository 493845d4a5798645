import CLinux
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

  /// Makes a copy.
  ///
  /// - Throws: `HeldFile.Failure` when the system has no room for it.
  public init(_ content: [UInt8]) throws(Failure) {
    self.content = content
    descriptor = try Self.copy(content)
  }

  deinit { close(descriptor) }

  /// A file that cannot be held.
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// Takes another content. Who has opened the path before goes on reading the old one.
  ///
  /// - Returns: whether it was another content.
  /// - Throws: ``Failure``, and then the old content stays.
  @discardableResult
  public func take(_ new: [UInt8]) throws(Failure) -> Bool {
    guard !holds(new) else { return false }
    try take(HeldFile(new))
    return true
  }

  /// Takes the content of another copy. Unlike a new copy, this needs no room.
  func take(_ copy: HeldFile) throws(Failure) {
    guard dup2(copy.descriptor, descriptor) == descriptor, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
      throw Self.failure("replace a copy", errno)
    }
    content = copy.content
  }

  /// Whether it has this content.
  func holds(_ other: [UInt8]) -> Bool { content == other }

  private static func copy(_ content: [UInt8]) throws(Failure) -> Int32 {
    let descriptor = countersign_memory_file("countersign")
    guard descriptor >= 0 else { throw failure("open a file in memory", errno) }
    var rest = content[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      let code = errno
      guard count > 0 else {
        close(descriptor)
        throw failure("write a file in memory", code)
      }
      rest = rest.dropFirst(count)
    }
    return descriptor
  }

  /// - Parameter code: of `errno`, kept right after the failed call.
  private static func failure(_ operation: String, _ code: Int32) -> Failure {
    Failure(description: "\(operation): \(String(cString: strerror(code)))")
  }
}
