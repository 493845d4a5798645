import Configuration
import Glibc
import Import

/// Standard input or a file, read line by line or at once.
final class LineInput {
  /// A longer line ends the reading: no data that can be verified is so long.
  private static let maxLine = 32 << 20

  /// Why ``next()`` returned `nil` before the end; otherwise `nil`.
  private(set) var failure: String?
  /// The line that has ended the reading, if it was too long.
  private(set) var tooLong: LineSplitter.TooLong?

  private let descriptor: Int32
  /// Called before waiting for more input: a caller that sends one line and waits for its answer must get it.
  var beforeReading: () -> Void = {}
  private var buffer: [UInt8] = []
  private var position = 0
  /// The number of the next line, from 1.
  private var number = 1
  private var isAtEnd = false

  /// Why a file cannot be opened.
  struct Unopened: Error, CustomStringConvertible {
    let description: String
  }

  /// Opens a file; `-` is standard input.
  ///
  /// - Throws: ``Unopened``.
  init(file: String) throws(Unopened) {
    let opened = file == "-" ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC)
    let code = errno
    guard opened >= 0 else { throw Unopened(description: "cannot open \(file)\(FileBytes.cause(of: code))") }
    descriptor = opened
  }

  /// Opens a file, and begins at a place in it. A pipe has none.
  ///
  /// - Parameter offset: bytes from the beginning.
  convenience init?(file: String, at offset: Int64) {
    do throws(Unopened) { try self.init(file: file) } catch { return nil }
    guard lseek(descriptor, Int(offset), SEEK_SET) == offset else { return nil }
  }

  deinit {
    if descriptor != STDIN_FILENO { close(descriptor) }
  }

  /// Returns the next line without its end, or `nil` at the end and after a failure.
  func next() -> [UInt8]? {
    var searched = position
    while true {
      if let end = buffer[searched...].firstIndex(of: 0x0a) {
        defer { (position, number) = (end + 1, number + 1) }
        return Array(buffer[position..<end])
      }
      searched = buffer.count
      guard !isAtEnd else {
        defer { position = buffer.count }
        return position < buffer.count ? Array(buffer[position...]) : nil
      }
      guard buffer.count - position <= Self.maxLine else {
        failure = "a line is longer than \(Self.maxLine) bytes"
        tooLong = LineSplitter.TooLong(
          most: Self.maxLine, line: number, beginning: Array(buffer.dropFirst(position).prefix(LineSplitter.beginning)))
        return nil
      }
      searched -= position
      buffer.removeFirst(position)
      position = 0
      guard fill() else { return nil }
    }
  }

  /// Returns everything, or `nil` after a failure.
  func readAll() -> [UInt8]? {
    while !isAtEnd { guard buffer.count <= Self.maxLine, fill() else { return nil } }
    return buffer
  }

  /// Reads the bytes that are there; false after a failure.
  private func fill() -> Bool {
    beforeReading()
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      let code = errno
      if count < 0, code == EINTR { continue }
      guard count >= 0 else {
        failure = "the input cannot be read\(FileBytes.cause(of: code))"
        return false
      }
      isAtEnd = count == 0
      buffer += chunk.prefix(count)
      return true
    }
  }
}
