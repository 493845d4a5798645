import Domain
import Glibc
import Ledger

/// The file of an export that goes on.
enum ExportFile {
  /// Reads a file up to its last whole line.
  ///
  /// - Returns: what it has, and how many bytes its whole lines are.
  /// - Throws: `ExportedSoFar.Unusable`, or ``ExportOutput/Failure``.
  static func read(_ file: String, publisher: PublisherId) throws -> (soFar: ExportedSoFar, length: Int) {
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ExportOutput.Failure("open", file, errno) }
    defer { close(descriptor) }
    var (soFar, length, line) = (ExportedSoFar(publisher: publisher), 0, [UInt8]())
    var chunk = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      let code = errno
      if count < 0, code == EINTR { continue }
      guard count >= 0 else { throw ExportOutput.Failure("read", file, code) }
      guard count > 0 else { break }
      var rest = chunk[..<count]
      while let end = rest.firstIndex(of: 0x0a) {
        line += rest[..<end]
        try soFar.take(line)
        length += line.count + 1
        line.removeAll(keepingCapacity: true)
        rest = rest[(end + 1)...]
      }
      line += rest
    }
    try soFar.finish()
    return (soFar, length)
  }
}
