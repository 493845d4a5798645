import EventLoop
import Redis

/// Takes finalized synchronizations off the open ones after their events are published.
///
/// One script takes all of a turn of the loop. A script for a single one costs Redis more for the call than for the
/// work.
@LoopActor
final class ToldBatch {
  private struct Entry {
    let synchronization: String
    let member: String
    let waiter: CheckedContinuation<Void, any Error>
  }

  /// While Redis runs a script, all other clients wait.
  private static let most = 100

  private let redis: RedisClient
  private let open: String
  private var entries: [Entry] = []
  private lazy var sendLater = EndOfTurn { [weak self] in self?.sendAll() }

  init(_ redis: RedisClient, open: String) {
    self.redis = redis
    self.open = open
  }

  /// Returns when Redis has run the script.
  func add(_ synchronization: String, _ member: String) async throws {
    try await withCheckedThrowingContinuation { waiter in
      entries.append(Entry(synchronization: synchronization, member: member, waiter: waiter))
      sendLater.plan()
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
        .told, keys: ["openKey": open], moreKeys: entries.map(\.synchronization),
        moreArguments: entries.map(\.member))
      for entry in entries { entry.waiter.resume() }
    } catch {
      for entry in entries { entry.waiter.resume(throwing: error) }
    }
  }
}

extension RedisScript {
  fileprivate static let told = RedisScript(
    "told", keys: ["openKey"], moreKeys: "firstSynchronization", moreArguments: "firstMember",
    """
    local done = {}
    for number = 0, #KEYS - firstSynchronization do
      local key = KEYS[firstSynchronization + number]
      local state = redis.call('HMGET', key, 'status', 'recordVersion')
      -- A newer record stays among the open ones: the sweep of a newer process knows how to treat it.
      if state[1] == 'finalized' and (state[2] or '1') == '1' then
        redis.call('HDEL', key, 'job', 'fence', 'held', 'crashes', 'repeated')
        done[#done + 1] = ARGV[firstMember + number]
      end
    end
    if #done > 0 then redis.call('ZREM', openKey, unpack(done)) end
    return #done
    """)
}
