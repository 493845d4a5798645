import EventLoop
import Redis
import Store

extension DeliveryStore {
  /// Reads an event again to deliver it to an endpoint, if a notifier delivered or tried it within the retention time.
  ///
  /// - Parameter round: names this request; a notifier makes the attempts of one round once.
  /// - Returns: the first attempt of the round; `nil` when Redis does not keep the event, or not any more.
  public func event(
    publisher: Int64, id: String, to endpoint: String, round: String
  ) async throws -> Delivery? {
    let key = keys.event(publisher, id)
    let fields = try await redis.send(["HMGET", key, "message", RecordVersion.field]).array ?? []
    if let version = fields.last?.string { try RecordVersion.check(version, key: key, "read event") }
    return fields.first?.string.flatMap { Delivery(kept: $0, eventId: id, endpointId: endpoint, round: round) }
  }

  /// Returns the events that an endpoint has missed, the oldest first.
  ///
  /// No notifier sends them by itself. Each stays in the list until it is delivered.
  ///
  /// - Parameter since: only events given up at this time or later, in milliseconds since 1970.
  public func owed(
    publisher: Int64, endpoint: String, since: Int64, limit: Int = 100_000
  ) async throws -> [(eventId: String, time: Int64)] {
    let reply = try await redis.send([
      "ZRANGEBYSCORE", keys.owed(publisher, endpoint), String(since), "+inf", "WITHSCORES", "LIMIT", "0", String(limit),
    ])
    let words = reply.array ?? []
    return stride(from: 0, to: words.count - 1, by: 2).compactMap { index in
      guard let id = words[index].string, let time = words[index + 1].string.flatMap({ Double($0) }) else {
        return nil
      }
      return (id, Int64(time))
    }
  }

  /// Forgets the log, the limits and the missed events of a deleted endpoint.
  public func forget(publisher: Int64, endpoint: String) async throws {
    _ = try await redis.send([
      "UNLINK", keys.attempts(publisher, endpoint), keys.owed(publisher, endpoint), keys.slots(publisher, endpoint),
      keys.pace(publisher, endpoint), keys.plans(publisher, endpoint),
    ])
  }
}
