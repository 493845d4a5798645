import Glibc

/// Standard output by whole lines. It collects them until there is a reason to write.
final class LineOutput {
  /// Why writing failed. After a failure it writes nothing more.
  private(set) var failure: String?

  private var buffer: [UInt8] = []

  /// Adds a line.
  func write(_ line: [UInt8]) {
    buffer += line
    buffer.append(0x0a)
    if buffer.count >= 1 << 16 { flush() }
  }

  /// Writes the collected lines.
  func flush() {
    var rest = buffer[...]
    while !rest.isEmpty, failure == nil {
      let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      let code = errno
      if count < 0, code == EINTR { continue }
      if count < 0 { failure = "the answers cannot be written: \(String(cString: strerror(code)))" }
      rest = rest.dropFirst(max(0, count))
    }
    buffer.removeAll(keepingCapacity: true)
  }
}
