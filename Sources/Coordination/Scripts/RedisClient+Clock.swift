import Formats
public import Redis

extension RedisClient {
  /// Redis' clock, in milliseconds since 1970.
  public func time() async throws -> Int64 {
    let reply = try await send(["TIME"])
    guard let parts = reply.array, parts.count == 2, let seconds = parts[0].string.flatMap({ Int64($0) }),
      let microseconds = parts[1].string.flatMap({ Int64($0) }), (0...Int64.times.upperBound / 1000).contains(seconds),
      (0..<1_000_000).contains(microseconds)
    else { throw RedisError.unexpected(reply, "TIME") }
    return seconds * 1000 + microseconds / 1000
  }
}
