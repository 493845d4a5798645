public import EventLoop

/// Notices a node of the broker that is cut off from the others.
///
/// Such a node may keep its connections, answer heartbeats and deliver nothing: RabbitMQ 4.3 does not pause a minority.
/// So a connection that consumes publishes a message in turns to a queue that needs a majority. If no confirm comes,
/// another connection is opened, and other nodes come first.
@LoopActor
public final class AMQPProbe {
  private let queue: String
  private let times: Times
  private var misses = 0
  private var running: Task<Void, Never>?

  /// When it publishes, and how long it waits.
  public struct Times: Sendable, Equatable {
    /// The time between two messages.
    public var pause = Duration.seconds(20)
    /// How long a confirm may take. A broker that is only slow must not lose its consumers.
    public var patience = Duration.seconds(20)

    /// The times of a role.
    public init() {}

    /// The time before the next message after so many misses in a row. If the queue of the messages itself has no
    /// majority, a new connection does not help: the pause then grows to 16 times its length.
    func pause(after misses: Int) -> Duration { pause * (1 << min(max(misses, 0), 4)) }
  }

  /// Creates a probe.
  ///
  /// - Parameter queue: a durable queue that keeps one message at most. The caller declares it on each connection.
  public init(queue: String, times: Times = Times()) { (self.queue, self.times) = (queue, times) }

  /// Watches the connection of a channel until the channel ends.
  ///
  /// - Parameter reopen: opens another connection.
  /// - Throws: ``AMQPError`` when the broker gives no channel.
  func watch(_ channel: AMQPChannel, reopen: @escaping @LoopActor () -> Void) async throws {
    stop()
    let own = try await channel.sibling()
    try await own.enableConfirms()
    running = Task { @LoopActor [weak self] in
      while let pause = self.map({ $0.times.pause(after: $0.misses) }) {
        do {
          try await EventLoop.sleep(for: pause)
          try await self?.publish(on: own)
        } catch let error as AMQPError where error.code == .timeout || error.code == .refused {
          self?.misses += 1
          return reopen()
        } catch let error as AMQPError where error.code == .blocked || error.code == .unroutable {
          // An alarm holds for all nodes, and a queue that is gone comes back with the next connection.
          continue
        } catch {
          return
        }
      }
    }
  }

  private func publish(on channel: AMQPChannel) async throws {
    let message = AMQPMessage(exchange: "", routingKey: queue, messageID: "probe", body: [])
    try await channel.publish(message, timeout: times.patience)
    misses = 0
  }

  /// Stops publishing.
  func stop() {
    running?.cancel()
    running = nil
  }
}
