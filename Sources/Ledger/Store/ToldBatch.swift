import EventLoop
import Redis

/// Takes off the open ones what has been told, in one script for all of a turn of the loop: a script that does this for one costs Redis
/// more for being a script than for what it does.
@LoopActor
final class ToldBatch {
  private struct Entry {
    let synchronization: String
    let member: String
    let waiter: CheckedContinuation<Void, any Error>
  }

  /// A script of Redis' holds up everybody else's.
  private static let most = 100

  private let redis: RedisClient
  private let open: String
  private var entries: [Entry] = []

  init(_ redis: RedisClient, open: String) {
    self.redis = redis
    self.open = open
  }

  /// Returns when Redis has done it.
  func add(_ synchronization: String, _ member: String) async throws {
    try await withCheckedThrowingContinuation { waiter in
      entries.append(Entry(synchronization: synchronization, member: member, waiter: waiter))
      if entries.count == 1 { EventLoop.process.atEndOfTurn { self.sendAll() } }
    }
  }

  private func sendAll() {
    let all = entries
    entries.removeAll()
    for start in stride(from: 0, to: all.count, by: Self.most) {
      let some = Array(all[start..<min(start + Self.most, all.count)])
      Task.immediate { @LoopActor in await send(some) }
    }
  }

  private func send(_ entries: [Entry]) async {
    do {
      _ = try await redis.run(
        .told, keys: [open] + entries.map(\.synchronization), arguments: entries.map(\.member))
      for entry in entries { entry.waiter.resume() }
    } catch {
      for entry in entries { entry.waiter.resume(throwing: error) }
    }
  }
}

extension RedisScript {
  fileprivate static let told = RedisScript(
    "told",
    """
    local done = {}
    for index = 2, #KEYS do
      if redis.call('HGET', KEYS[index], 'status') == 'finalized' then
        redis.call('HDEL', KEYS[index], 'job', 'fence', 'held', 'crashes')
        done[#done + 1] = ARGV[index - 1]
      end
    end
    if #done > 0 then redis.call('ZREM', KEYS[1], unpack(done)) end
    return #done
    """)
}
