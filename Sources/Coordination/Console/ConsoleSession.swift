/// A person's session in the console. Times are milliseconds since 1970.
public struct ConsoleSession: Sendable, Equatable {
  /// Who signed in.
  public let name: String
  /// The digest of the line that lets the person in. Another password or role ends the session.
  public let lineSHA256: String
  public let startedAt: Int64
  /// The last use that the record has.
  public var usedAt: Int64

  /// Creates a session.
  public init(name: String, lineSHA256: String, startedAt: Int64, usedAt: Int64) {
    (self.name, self.lineSHA256, self.startedAt, self.usedAt) = (name, lineSHA256, startedAt, usedAt)
  }

  /// How long the session lasts if nobody uses it any more.
  public func left(at now: Int64, idle: Duration, longest: Duration) -> Duration {
    func age(of time: Int64) -> Duration { .milliseconds(max(0, now.subtractingReportingOverflow(time).partialValue)) }
    return min(idle - age(of: usedAt), longest - age(of: startedAt))
  }

  /// The record in Redis. The name stands last, because it may have spaces.
  var record: String { "\(startedAt) \(usedAt) \(lineSHA256) \(name)" }

  /// Reads a record; `nil` for any other text.
  init?(record: String) {
    let parts = record.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, let startedAt = Int64(parts[0]), let usedAt = Int64(parts[1]), startedAt >= 0, usedAt >= 0
    else { return nil }
    self.init(name: parts[3], lineSHA256: parts[2], startedAt: startedAt, usedAt: usedAt)
  }
}
