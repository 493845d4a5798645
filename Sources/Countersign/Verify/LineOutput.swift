import Glibc

/// Standard output by whole lines, collected until there is reason to write them.
final class LineOutput {
  /// What went wrong; from then on nothing is written any more.
  private(set) var failure: String?

  private var buffer: [UInt8] = []

  /// Adds a line.
  func write(_ line: [UInt8]) {
    buffer += line
    buffer.append(0x0a)
    if buffer.count >= 1 << 16 { flush() }
  }

  /// Writes what was collected.
  func flush() {
    var rest = buffer[...]
    while !rest.isEmpty, failure == nil {
      let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count < 0 { failure = "the answers cannot be written: \(String(cString: strerror(errno)))" }
      rest = rest.dropFirst(max(0, count))
    }
    buffer.removeAll(keepingCapacity: true)
  }
}
