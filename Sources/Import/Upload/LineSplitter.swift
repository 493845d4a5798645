/// Cuts bytes that come in parts into lines.
public struct LineSplitter: Sendable {
  /// A line is longer than it may be.
  public struct TooLong: Error, Sendable, Equatable, CustomStringConvertible {
    public let most: Int

    public var description: String { "a line is longer than \(most) bytes" }
  }

  private static let lineFeed = UInt8(ascii: "\n")

  private let most: Int
  private var buffer: [UInt8] = []
  /// Where the next line begins.
  private var position = 0
  /// Up to where there is no line feed.
  private var searched = 0

  /// - Parameter most: the most bytes of a line.
  public init(most: Int = 8 << 20) { self.most = most }

  /// Returns the next line without its line feed; `nil` until more bytes come.
  public mutating func next() -> [UInt8]? {
    guard let end = buffer[searched...].firstIndex(of: Self.lineFeed) else {
      searched = buffer.count
      return nil
    }
    defer { (position, searched) = (end + 1, end + 1) }
    return Array(buffer[position..<end])
  }

  /// Takes more bytes. ``next()`` has returned `nil` before.
  ///
  /// - Throws: ``TooLong``.
  public mutating func take(_ bytes: [UInt8]) throws(TooLong) {
    buffer.removeFirst(position)
    (position, searched) = (0, searched - position)
    guard buffer.count <= most else { throw TooLong(most: most) }
    buffer += bytes
  }

  /// Returns the last line, if no line feed ends it.
  public mutating func rest() -> [UInt8]? {
    defer { (buffer, position, searched) = ([], 0, 0) }
    return position < buffer.count ? Array(buffer[position...]) : nil
  }
}
