/// Why a job runs again; a label of a metric, so a small closed set.
public enum RetryCause: String, Sendable, CaseIterable {
  case network, timeout
  /// No TLS connection: the server's certificate, or the file of authorities, is not right.
  case tls
  case appleError = "apple_error"
  case rateLimited = "rate_limited"
  case unauthorized
  case malformedAnswer = "malformed_answer"
  case notFoundYet = "not_found_yet"
  case budget
  /// Another suspect runs alone, and this job must run alone too.
  case suspect
  case busy
  case storeUnavailable = "store_unavailable"
  case ledgerUnavailable = "ledger_unavailable"
  case tryLater = "try_later"
  case publisherUnknown = "publisher_unknown"
  /// The publisher's file has a mistake.
  case publisherBroken = "publisher_broken"
  /// A newer version than this worker wrote the job, or a record in Redis.
  case newerFormat = "newer_format"

  /// Whether only a person can mend it. Such a wait counts no attempt, and the jobs of a publisher take turns.
  public var waitsForPerson: Bool { self == .unauthorized || self == .publisherBroken }

  /// Whether Apple has not answered, for a reason that is Apple's or the network's (`grantWhileAppleIsAway`).
  public var isAppleAway: Bool { [.network, .timeout, .tls, .appleError, .malformedAnswer].contains(self) }
}
