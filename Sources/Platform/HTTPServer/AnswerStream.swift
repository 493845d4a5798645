public import EventLoop

/// The body of an answer that is written piece by piece while its client reads it.
///
/// It holds one piece at a time. The writer goes on when libmicrohttpd has taken the whole piece, and libmicrohttpd
/// takes more only when the client has read. So a slow client slows the writer down, and the memory does not grow.
///
/// Who makes a stream must end it, with ``finish()`` or ``fail()``.
@LoopActor
public final class AnswerStream {
  /// Nobody reads what is written: the client is gone or was too slow, or the stream has ended.
  public struct Unread: Error, Sendable, CustomStringConvertible {
    public let description = "the client has gone, or the answer was ended, before its end"

    /// Creates the error.
    public init() {}
  }

  /// What a reader gets.
  enum Taken: Equatable {
    case bytes(Int)
    /// The writer has not come with the next piece.
    case nothingYet
    case end
    /// The body is not whole, and its client must notice that.
    case broken
  }

  private enum State {
    case open
    case finished
    case broken
    /// The reader has gone.
    case unread
  }

  private var state = State.open
  private var piece: [UInt8] = []
  private var taken = 0
  /// It waits until the piece is taken. `finish`, `fail` and `leave` end the wait too; each takes it out first.
  private var writer: CheckedContinuation<Void, any Error>?
  private var hasBegun = false
  private let begun = LoopSignal()
  /// Tells the reader to come again. The reader sets it.
  var onReadable: @LoopActor () -> Void = {}

  /// Creates a stream without a reader.
  public init() {}

  /// Whether the stream can take more.
  public var isOpen: Bool { state == .open }

  /// Writes a piece, and waits until libmicrohttpd has taken it. The next piece must not come before.
  ///
  /// - Throws: ``Unread``.
  public func write(_ bytes: [UInt8]) async throws {
    precondition(writer == nil, "a stream has one writer, which waits for each piece")
    guard state == .open else { throw Unread() }
    guard !bytes.isEmpty else { return }
    (piece, taken) = (bytes, 0)
    begin()
    try await withCheckedThrowingContinuation {
      writer = $0
      onReadable()
    }
  }

  /// Ends the body. Behind a second end, nothing changes.
  public func finish() { end(.finished) }

  /// Breaks the body off: the client's connection ends without the end of the body.
  public func fail() { end(.broken) }

  /// Waits for the first piece, or for the end.
  ///
  /// - Returns: whether there is something to answer with: the stream was not broken off before its first piece.
  public func begins() async -> Bool {
    while !hasBegun { await begun.wait(atMost: .seconds(3600)) }
    return state != .broken
  }

  // MARK: The reader

  /// Gives the next bytes of the present piece.
  func take(into buffer: UnsafeMutableRawBufferPointer) -> Taken {
    let rest = piece.dropFirst(taken).prefix(buffer.count)
    guard !rest.isEmpty else {
      switch state {
      case .open: return .nothingYet
      case .finished: return .end
      case .broken, .unread: return .broken
      }
    }
    buffer.copyBytes(from: rest)
    taken += rest.count
    if taken == piece.count {
      forget()
      let waiting = writer.take()
      waiting?.resume()
    }
    return .bytes(rest.count)
  }

  /// The reader goes, and does not come again.
  func leave() { end(.unread) }

  private func end(_ state: State) {
    guard self.state == .open || state == .unread else { return }
    self.state = state
    if state != .finished { forget() }
    begin()
    let waiting = writer.take()
    waiting?.resume(throwing: Unread())
    onReadable()
    if state == .unread { onReadable = {} }
  }

  private func forget() { (piece, taken) = ([], 0) }

  private func begin() {
    hasBegun = true
    begun.notify()
  }
}
