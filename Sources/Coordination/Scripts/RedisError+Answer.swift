import Redis

extension RedisError {
  /// The error of a script with an answer that it never gives.
  static func unexpected(_ reply: [RESPValue], _ script: String) -> RedisError {
    // The other words may name a customer, and the error goes into the log.
    RedisError(
      .reply, operation: "script \(script)", target: "Redis",
      cause: "an unexpected answer of \(reply.count) values, which begins with \(reply.first?.string ?? "no text")")
  }

  /// The error of a script with an answer that it never gives.
  static func unexpected(_ reply: RESPValue, _ script: String) -> RedisError {
    unexpected(reply.array ?? [reply], script)
  }
}
