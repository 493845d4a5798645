/// Cuts bytes that come in parts into lines.
public struct LineSplitter: Sendable {
  /// A line is longer than it may be.
  public struct TooLong: Error, Sendable, Equatable, CustomStringConvertible {
    /// What a person can do about it. A file of another kind, such as one JSON array, may be one long line.
    public let problem: ImportProblem

    /// Creates the error.
    ///
    /// - Parameters:
    ///   - most: the most bytes of a line.
    ///   - line: its number, from 1.
    ///   - beginning: its first bytes.
    public init(most: Int, line: Int, beginning: [UInt8]) {
      let isMarked = line == 1 && beginning.starts(with: ImportLines.mark)
      let first = isMarked ? Array(beginning.dropFirst(ImportLines.mark.count)) : beginning
      problem =
        (line == 1 ? ImportFileKind.defect(ofFirst: first) : nil)
        ?? ImportProblem(
          line: line, "is longer than \(most) bytes", "write one row a line, and end each line with a line feed")
    }

    public var description: String { problem.description }
  }

  /// So many first bytes of a long line tell its kind.
  public static let beginning = 64

  private static let lineFeed = UInt8(ascii: "\n")

  private let most: Int
  private var buffer: [UInt8] = []
  /// Where the next line begins.
  private var position = 0
  /// Up to where there is no line feed.
  private var searched = 0
  /// The number of the next line, from 1.
  private var line = 1

  /// - Parameter most: the most bytes of a line.
  public init(most: Int = 8 << 20) { self.most = most }

  /// Returns the next line without its line feed; `nil` until more bytes come.
  public mutating func next() -> [UInt8]? {
    guard let end = buffer[searched...].firstIndex(of: Self.lineFeed) else {
      searched = buffer.count
      return nil
    }
    defer { (position, searched, line) = (end + 1, end + 1, line + 1) }
    return Array(buffer[position..<end])
  }

  /// Takes more bytes. ``next()`` has returned `nil` before.
  ///
  /// - Throws: ``TooLong``.
  public mutating func take(_ bytes: [UInt8]) throws(TooLong) {
    buffer.removeFirst(position)
    (position, searched) = (0, searched - position)
    guard buffer.count <= most else {
      throw TooLong(most: most, line: line, beginning: Array(buffer.prefix(Self.beginning)))
    }
    buffer += bytes
  }

  /// Returns the last line, if no line feed ends it.
  public mutating func rest() -> [UInt8]? {
    defer { (buffer, position, searched) = ([], 0, 0) }
    return position < buffer.count ? Array(buffer[position...]) : nil
  }
}
