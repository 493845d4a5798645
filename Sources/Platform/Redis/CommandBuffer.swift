/// A command in the Redis protocol (RESP, "Send commands to a Redis server"). Its memory stays for the next command.
struct CommandBuffer {
  private var bytes: [UInt8] = []
  /// The number of bytes of the command.
  private(set) var count = 0

  /// The most bytes of memory that the buffer keeps. It releases the memory of a longer command.
  private static let kept = 1 << 16
  /// Room for a mark, the digits of a length and two line ends.
  private static let overhead = 1 + 20 + 4

  /// Writes a command in place of the last command.
  mutating func write(_ words: [String]) {
    let size = words.reduce(Self.overhead) { $0 + $1.utf8.count + Self.overhead }
    if bytes.count < size || bytes.count > Self.kept { bytes = [UInt8](repeating: 0, count: max(size, 4096)) }
    count = bytes.withUnsafeMutableBytes { bytes in
      var end = 0
      func append(_ byte: Unicode.Scalar) {
        bytes[end] = UInt8(ascii: byte)
        end += 1
      }
      func append(length: Int, mark: Unicode.Scalar) {
        append(mark)
        var divisor = 1
        while length / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
          bytes[end] = UInt8(ascii: "0") + UInt8(length / divisor % 10)
          (end, divisor) = (end + 1, divisor / 10)
        }
        append("\r")
        append("\n")
      }
      append(length: words.count, mark: "*")
      for word in words {
        append(length: word.utf8.count, mark: "$")
        let room = UnsafeMutableRawBufferPointer(rebasing: bytes[end...])
        // A text that is not in one piece of memory comes from Objective-C, which Linux does not have.
        if word.utf8.withContiguousStorageIfAvailable({ room.copyMemory(from: UnsafeRawBufferPointer($0)) }) == nil {
          room.copyBytes(from: word.utf8)
        }
        end += word.utf8.count
        append("\r")
        append("\n")
      }
      return end
    }
  }

  /// Gives `body` the bytes of the command.
  func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
  }
}
