/// How often and how long the workers try a job.
public struct RetryPolicy: Sendable {
  /// The delay before each further attempt.
  public let schedule: [Duration]
  /// Further attempts while Apple does not know the transaction, which may be newer than Apple's index.
  public let notFoundRetries: Int

  /// How long after its registration a job still waits for an app whose key Apple refuses (decision 0037). A customer
  /// who has paid gets the purchase whenever somebody mends the key, and nothing waits for ever.
  public static let patienceWithKeys = Duration.seconds(30 * 86_400)

  /// How many times a second the jobs of one publisher run together while they wait for such an app, however many they
  /// are. A tenth of what one worker can do; a thousand jobs come to their turn within a minute.
  public static let waitingRunsPerSecond = 20

  /// Creates a policy.
  public init(schedule: [Duration], notFoundRetries: Int) {
    self.schedule = schedule
    self.notFoundRetries = notFoundRetries
  }
}

/// The result of an attempt to verify.
public enum AttemptResult: Sendable, Equatable {
  /// Apple's signed data is verified and states a purchase.
  case verified
  /// Apple's answer is final and gives nothing.
  case rejected(ResultCode)
  /// Apple knows the transaction in no app and no environment of the publisher.
  case unknownTransaction
  /// Apple refuses the key of an app. Only a person can mend that, so it does not count as an attempt.
  case refused(wait: Duration)
  /// A failure that may pass. It counts as an attempt.
  case failed(RetryCause)
  /// The worker made no call, because the budget is used up or paused. This does not count as an attempt.
  case postponed(RetryCause, wait: Duration)
}

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
  /// A newer version than this worker wrote the job, or a record in Redis.
  case newerFormat = "newer_format"

  /// Whether Apple has not answered, for a reason that is Apple's or the network's (`grantWhileAppleIsAway`).
  public var isAppleAway: Bool { [.network, .timeout, .tls, .appleError, .malformedAnswer].contains(self) }
}

/// The step after an attempt.
public enum NextStep: Sendable, Equatable {
  /// Let the ledger decide on the evidence.
  case decide
  /// End the synchronization without evidence.
  case finalize(ResultCode)
  /// Delay the job for so long and acknowledge this delivery.
  case retry(attempt: Int, after: Duration, RetryCause)

  /// Decides the step after an attempt, by value.
  ///
  /// - Parameters:
  ///   - attempt: the number of the last attempt, from 1.
  ///   - age: the time since the registration.
  public static func after(
    _ result: AttemptResult, attempt: Int, policy: RetryPolicy, age: Duration = .zero
  ) -> NextStep {
    switch result {
    case .verified: return .decide
    case .rejected(let code): return .finalize(code)
    case .unknownTransaction:
      guard attempt <= min(policy.notFoundRetries, policy.schedule.count) else {
        return .finalize(.transactionIdNotFound)
      }
      return again(attempt, policy, .notFoundYet)
    case .refused(let wait):
      guard age < RetryPolicy.patienceWithKeys else { return .finalize(.internalError) }
      return .retry(attempt: attempt, after: wait, .unauthorized)
    case .failed(let cause):
      return again(attempt, policy, cause)
    case .postponed(let cause, let wait):
      return .retry(attempt: attempt, after: wait, cause)
    }
  }

  private static func again(_ attempt: Int, _ policy: RetryPolicy, _ cause: RetryCause) -> NextStep {
    guard attempt <= policy.schedule.count else { return .finalize(.internalError) }
    return .retry(attempt: attempt + 1, after: policy.schedule[attempt - 1], cause)
  }
}
