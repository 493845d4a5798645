public import EventLoop
public import Redis

/// The sessions of the console, and the pace of those who try to sign in, in Redis.
///
/// Redis knows a session by the SHA-256 of its token. So nobody who reads Redis can use a session. Every method throws
/// `RedisError`.
@LoopActor
public final class ConsoleSessions {
  private let redis: RedisClient
  private let keys: Keys

  /// Creates it over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// Keeps a new session.
  public func begin(_ session: ConsoleSession, _ tokenSHA256: String, for time: Duration) async throws {
    _ = try await redis.send([
      "SET", keys.consoleSession(tokenSHA256), session.record, "PX", String(max(1, time.wholeMilliseconds)),
    ])
  }

  /// Reads a session; `nil` if there is none.
  public func session(_ tokenSHA256: String) async throws -> ConsoleSession? {
    try await redis.send(["GET", keys.consoleSession(tokenSHA256)]).string.flatMap(ConsoleSession.init(record:))
  }

  /// Notes that a session was used. A session that ended meanwhile stays ended.
  public func use(_ session: ConsoleSession, _ tokenSHA256: String, for time: Duration) async throws {
    _ = try await redis.send([
      "SET", keys.consoleSession(tokenSHA256), session.record, "XX", "PX", String(max(1, time.wholeMilliseconds)),
    ])
  }

  /// Ends a session.
  public func end(_ tokenSHA256: String) async throws {
    _ = try await redis.send(["UNLINK", keys.consoleSession(tokenSHA256)])
  }

  /// Counts an attempt to sign in, before the password is looked at.
  ///
  /// - Parameters:
  ///   - person: a digest of the name and the address.
  ///   - address: a digest of the address.
  ///   - most: with more attempts, an address gets no more keys: each made-up name would cost one.
  ///   - window: counts end so long after their first attempt.
  /// - Returns: how many attempts there are of both; 0 for a person who was not counted.
  public func attempt(
    _ person: String, _ address: String, atMost most: Int64, within window: Duration
  ) async throws -> (person: Int64, address: Int64) {
    let reply = try await redis.run(
      .countConsoleAttempt,
      keys: ["personKey": keys.consoleAttempts(person), "addressKey": keys.consoleAttempts(address)],
      arguments: ["window": String(window.wholeMilliseconds), "most": String(most)])
    guard let counts = reply.array, counts.count == 2, let person = counts[0].integer, let address = counts[1].integer
    else { throw RedisError.unexpected(reply.array ?? [], "count console attempt") }
    return (person, address)
  }

  /// Forgets the attempts of a person, who has signed in. The address keeps its count: who has one password could try
  /// any number of other names otherwise.
  public func forgetAttempts(_ person: String) async throws {
    _ = try await redis.send(["UNLINK", keys.consoleAttempts(person)])
  }
}

extension RedisScript {
  fileprivate static let countConsoleAttempt = RedisScript(
    "count console attempt", keys: ["personKey", "addressKey"], arguments: ["window", "most"],
    """
    local function count(key)
      local attempts = redis.call('INCR', key)
      if attempts == 1 then redis.call('PEXPIRE', key, window) end
      return attempts
    end
    local ofAddress = count(addressKey)
    if ofAddress > tonumber(most) then return {0, ofAddress} end
    return {count(personKey), ofAddress}
    """)
}
