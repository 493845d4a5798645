import Glibc

/// Standard error, written without waiting for its reader.
///
/// The descriptor itself stays as it is: other processes may share it, and a flag of theirs would change with ours.
struct StandardError: Sendable {
  static let process = StandardError()

  /// The most bytes of one write. Up to this size, lines of several processes on one pipe do not mix, and a pipe takes
  /// all or nothing (PIPE_BUF of Linux).
  static let mostAtOnce = 4096

  private enum Kind {
    /// A pipe that was opened once more, for this process alone.
    case ownPipe(Int32)
    case socket
    /// Writing to a file waits for no reader.
    case file
    /// A terminal, or a pipe of another user's that this process may not open. It is asked before each write.
    case asked
  }
  private let kind: Kind

  private init() {
    var state = stat()
    guard fstat(2, &state) == 0 else {
      kind = .file
      return
    }
    switch state.st_mode & S_IFMT {
    case S_IFREG: kind = .file
    case S_IFSOCK: kind = .socket
    case S_IFIFO:
      let own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      kind = own >= 0 ? .ownPipe(own) : .asked
    default: kind = .asked
    }
  }

  /// Writes what the reader takes now.
  ///
  /// - Returns: how many of the bytes need not be written again. All of them if nobody will ever take them: a log that
  ///   cannot be written must not stop the work.
  func write(_ bytes: ArraySlice<UInt8>) -> Int {
    var rest = bytes
    while !rest.isEmpty {
      let written = writeOnce(rest.prefix(Self.mostAtOnce))
      let code = errno
      if written < 0 {
        if code == EINTR { continue }
        return code == EAGAIN ? bytes.count - rest.count : bytes.count
      }
      rest = rest.dropFirst(written)
    }
    return bytes.count
  }

  /// Waits until the reader may take something, or the time is over.
  func waitUntilWritable(milliseconds: Int32) {
    var descriptor = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
    _ = poll(&descriptor, 1, milliseconds)
  }

  private func writeOnce(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.withUnsafeBytes { bytes in
      switch kind {
      case .ownPipe(let pipe): return Glibc.write(pipe, bytes.baseAddress, bytes.count)
      case .socket: return send(2, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
      case .file: return Glibc.write(2, bytes.baseAddress, bytes.count)
      case .asked:
        var descriptor = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
        guard poll(&descriptor, 1, 0) > 0 else {
          errno = EAGAIN
          return -1
        }
        return Glibc.write(2, bytes.baseAddress, bytes.count)
      }
    }
  }
}
