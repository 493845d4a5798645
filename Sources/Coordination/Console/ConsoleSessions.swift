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

  /// Keeps a new session, and ends the person's oldest ones beyond a number.
  ///
  /// - Parameters:
  ///   - person: a digest of the name.
  ///   - time: so long it lasts if nobody uses it.
  ///   - longest: no session lasts longer.
  ///   - most: so many sessions a person may have.
  public func begin(
    _ session: ConsoleSession, _ tokenSHA256: String, of person: String, for time: Duration, longest: Duration,
    atMost most: Int
  ) async throws {
    _ = try await redis.run(
      .beginConsoleSession,
      keys: ["sessionKey": keys.consoleSession(tokenSHA256), "listKey": keys.consoleSessions(person)],
      arguments: [
        "prefix": keys.consoleSession(""), "token": tokenSHA256, "record": session.record,
        "time": String(max(1, time.wholeMilliseconds)), "longest": String(max(1, longest.wholeMilliseconds)),
        "most": String(most),
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
    else { throw RedisError.unexpected(reply, "count console attempt") }
    return (person, address)
  }

  /// Counts one thing more.
  ///
  /// - Parameters:
  ///   - digest: of what is counted.
  ///   - window: the count ends so long after its first thing.
  /// - Returns: how many there are.
  public func count(_ digest: String, within window: Duration) async throws -> Int64 {
    let reply = try await redis.run(
      .countAtConsole, keys: ["key": keys.consoleAttempts(digest)],
      arguments: ["window": String(window.wholeMilliseconds)])
    guard let count = reply.integer else { throw RedisError.unexpected(reply, "count at console") }
    return count
  }

  /// Forgets the attempts of a person, who has signed in. The address keeps its count: who has one password could try
  /// any number of other names otherwise.
  public func forgetAttempts(_ person: String) async throws {
    _ = try await redis.send(["UNLINK", keys.consoleAttempts(person)])
  }
}

extension RedisScript {
  /// The list has the digests of a person's sessions, the oldest first. It may have ended ones too.
  fileprivate static let beginConsoleSession = RedisScript(
    "begin console session", keys: ["sessionKey", "listKey"],
    arguments: ["prefix", "token", "record", "time", "longest", "most"],
    """
    redis.call('SET', sessionKey, record, 'PX', time)
    redis.call('RPUSH', listKey, token)
    redis.call('PEXPIRE', listKey, longest)
    local live = {}
    for _, each in ipairs(redis.call('LRANGE', listKey, 0, -1)) do
      if redis.call('EXISTS', prefix .. each) == 1 then
        live[#live + 1] = each
      else
        redis.call('LREM', listKey, 0, each)
      end
    end
    for place = 1, #live - tonumber(most) do
      redis.call('UNLINK', prefix .. live[place])
      redis.call('LREM', listKey, 0, live[place])
    end
    """)

  fileprivate static let countAtConsole = RedisScript(
    "count at console", keys: ["key"], arguments: ["window"],
    """
    local count = redis.call('INCR', key)
    if count == 1 then redis.call('PEXPIRE', key, window) end
    return count
    """)

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
