import EventLoop
import Formats

/// Asks a sentinel each second for the primary, and tells when the sentinel names another one.
///
/// Without it, a process that is cut off from nothing but the sentinels' decision would go on with the old primary:
/// a node that was frozen or partitioned takes writes until it learns that it is no primary any more.
@LoopActor
final class SentinelWatch {
  private let endpoint: @LoopActor () -> RedisEndpoint
  private let sentinels: RedisSentinels
  private let onSwitch: @LoopActor (ServerAddress) -> Void
  private var running: Task<Void, Never>?

  private static let interval: Duration = .seconds(1)

  /// - Parameters:
  ///   - endpoint: the watch asks for it at each opening, since passwords change.
  ///   - onSwitch: the watch calls it once, and ends.
  init(
    _ endpoint: @escaping @LoopActor () -> RedisEndpoint, of sentinels: RedisSentinels,
    onSwitch: @escaping @LoopActor (ServerAddress) -> Void
  ) {
    self.endpoint = endpoint
    self.sentinels = sentinels
    self.onSwitch = onSwitch
  }

  /// Starts to ask.
  ///
  /// - Parameters:
  ///   - primary: the node of the present connections.
  ///   - sentinel: the sentinel that has named it.
  func start(_ primary: ServerAddress, namedBy sentinel: ServerAddress) {
    running = Task { @LoopActor in await run(primary, sentinel) }
  }

  /// Stops asking.
  func stop() {
    running?.cancel()
    running = nil
  }

  /// Two sentinels may name one node in two ways. So only a change of one sentinel's own answers counts.
  private func run(_ primary: ServerAddress, _ first: ServerAddress) async {
    var known = [first: primary]
    var place = sentinels.addresses.firstIndex(of: first) ?? 0
    while !Task.isCancelled {
      let address = sentinels.addresses[place]
      do {
        let present = endpoint()
        let sentinel = try await RedisConnection.openDirectly(
          present.sentinel(at: address, of: present.sentinels ?? sentinels))
        defer { sentinel.close() }
        while true {
          let answer = try await sentinel.primary(sentinels.primaryName)
          guard !Task.isCancelled else { return }
          if let before = known[address], before != answer { return onSwitch(answer) }
          known[address] = answer
          try await EventLoop.sleep(for: Self.interval)
        }
      } catch {
        place = (place + 1) % sentinels.addresses.count
        try? await EventLoop.sleep(for: Self.interval)
      }
    }
  }
}
