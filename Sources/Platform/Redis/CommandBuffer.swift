/// Commands in the Redis protocol (RESP, "Send commands to a Redis server") that wait to be sent.
struct CommandBuffer {
  private var bytes: [UInt8] = []
  /// The number of bytes of the commands.
  private(set) var count = 0
  /// The number of these bytes that the socket has taken.
  private var sent = 0

  /// The most bytes of memory that an empty buffer keeps.
  private static let kept = 1 << 16
  /// Room for a mark, the digits of a length and two line ends.
  private static let overhead = 1 + 20 + 4

  var isEmpty: Bool { count == 0 }

  /// Adds a command, and returns its number of bytes.
  mutating func append(_ words: [String]) -> Int {
    let size = words.reduce(Self.overhead) { $0 + $1.utf8.count + Self.overhead }
    if bytes.count - count < size, 2 * sent >= count { forgetSent() }
    if bytes.count - count < size {
      var larger = [UInt8](repeating: 0, count: max(count + size, 2 * bytes.count, 4096))
      larger.withUnsafeMutableBytes { larger in bytes.withUnsafeBytes { larger.copyMemory(from: $0) } }
      bytes = larger
    }
    let start = count
    count = bytes.withUnsafeMutableBytes { bytes in
      var end = start
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
    return count - start
  }

  private mutating func forgetSent() {
    bytes.withUnsafeMutableBytes { bytes in
      bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[sent..<count]))
    }
    (count, sent) = (count - sent, 0)
  }

  /// Offers the waiting bytes to a function that returns how many it took.
  mutating func send(_ take: (UnsafeRawBufferPointer) -> Int) {
    while sent < count {
      let taken = bytes.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0[sent..<count])) }
      guard taken > 0 else { return }
      sent += taken
    }
    (count, sent) = (0, 0)
    if bytes.count > Self.kept { bytes = [] }
  }
}
