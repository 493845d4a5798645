public import EventLoop
import Formats

/// A connection that comes back. It opens, sets up, waits for the end, and begins again with a growing delay.
///
/// A connection recovers nothing. So `setUp` does everything that a connection needs (topology, confirm mode,
/// consumers), again for each connection.
@LoopActor
public final class AMQPSession {
  /// The changes of a session's connection.
  public enum Change: Sendable {
    case connected
    case blocked(Bool)
    case lost(any Error, retryIn: Duration)
    /// The connection works, but something behind it does not, and another one is opened at once.
    case reopening(AMQPError)
  }

  private let endpoint: @LoopActor () -> AMQPEndpoint
  private let name: String
  private let setUp: @LoopActor (AMQPConnection) async throws -> AMQPChannel
  private let onChange: @LoopActor (Change) -> Void
  private var running: Task<Void, Never>?
  private var connection: AMQPConnection?
  /// Whether ``reopen(_:_:)`` has ended the connection.
  private var isReopening = false
  /// Whether the session is stopping or has stopped. It then opens no more connections.
  public private(set) var isStopping = false

  private var current: AMQPChannel?
  private var lastFailure: (any Error)?

  /// The channel of the current connection after its set-up; `nil` without a connection.
  public var channel: AMQPChannel? { current?.failure == nil ? current : nil }

  /// Creates a session. Nothing happens before ``start()``.
  ///
  /// - Parameters:
  ///   - endpoint: the session asks for it at each opening of a connection.
  ///   - name: the broker shows it in its list of connections.
  ///   - setUp: declares the topology and returns the channel. The end of that channel ends the connection.
  ///   - onChange: the session calls it at every change.
  public init(
    _ endpoint: @escaping @LoopActor () -> AMQPEndpoint, name: String,
    onChange: @escaping @LoopActor (Change) -> Void,
    setUp: @escaping @LoopActor (AMQPConnection) async throws -> AMQPChannel
  ) {
    self.endpoint = endpoint
    self.name = name
    self.onChange = onChange
    self.setUp = setUp
  }

  /// Host and port of the node, or those of all nodes without a connection.
  var target: String { connection?.endpoint.description ?? endpoint().description }

  /// Whether the session can publish messages now.
  public var isReady: Bool { channel != nil && connection?.isBlocked == false }

  /// Why the session has no channel, for a person; `nil` if it has one.
  var trouble: String? {
    guard channel == nil else { return nil }
    guard let lastFailure else { return "no connection yet" }
    guard let error = lastFailure as? AMQPError else { return "\(lastFailure)" }
    return "\(error.operation) at \(error.target): \(error.cause)"
  }

  /// Starts to connect. A second call does nothing.
  public func start() {
    guard running == nil, !isStopping else { return }
    running = Task { @LoopActor in await run() }
  }

  /// Closes the connection properly and opens no more. A caller may call it without a start, and twice.
  public func stop() async {
    isStopping = true
    running?.cancel()
    await connection?.close()
    await running?.value
    running = nil
  }

  /// Opens a new connection at once, although the present one works.
  func reopen(_ operation: String, _ cause: String) {
    guard let connection, connection.failure == nil else { return }
    isReopening = true
    connection.end(.connectionLost, operation, cause)
  }

  private func run() async {
    var backoff = Backoff()
    // The node whose connection has ended: other nodes come first, and it comes last.
    var failed: ServerAddress?
    while !isStopping {
      let failure: any Error
      do {
        let connection = try await AMQPConnection.open(endpoint(), name: name, failed: failed)
        self.connection = connection
        failed = connection.endpoint.nodes[0]
        connection.onBlocked = { [weak self] in self?.onChange(.blocked($0)) }
        do {
          let channel = try await setUp(connection)
          guard !isStopping else { break }
          current = channel
          backoff = Backoff()
          onChange(.connected)
          failure = await channel.ended()
        } catch {
          failure = error
        }
        current = nil
        await connection.close()
        self.connection = nil
      } catch {
        failure = error
      }
      lastFailure = failure
      guard !isStopping else { break }
      if isReopening {
        isReopening = false
        if let failure = failure as? AMQPError { onChange(.reopening(failure)) }
        continue
      }
      let delay = backoff.next()
      onChange(.lost(failure, retryIn: delay))
      try? await EventLoop.sleep(for: delay)
    }
    current = nil
    await connection?.close()
    connection = nil
  }
}
