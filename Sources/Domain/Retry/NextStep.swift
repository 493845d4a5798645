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
    _ result: AttemptResult, attempt: Int, policy: JobRetryPolicy, age: Duration = .zero
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
      return waitForPerson(attempt, wait, .unauthorized, age)
    case .brokenPublisher(let wait):
      return waitForPerson(attempt, wait, .publisherBroken, age)
    case .failed(let cause):
      return again(attempt, policy, cause)
    case .postponed(let cause, let wait):
      return .retry(attempt: attempt, after: wait, cause)
    }
  }

  private static func waitForPerson(_ attempt: Int, _ wait: Duration, _ cause: RetryCause, _ age: Duration) -> NextStep
  {
    guard age < JobRetryPolicy.patienceWithPersons else { return .finalize(.internalError) }
    return .retry(attempt: attempt, after: wait, cause)
  }

  private static func again(_ attempt: Int, _ policy: JobRetryPolicy, _ cause: RetryCause) -> NextStep {
    guard let delay = policy.delay(after: attempt) else { return .finalize(.internalError) }
    return .retry(attempt: attempt + 1, after: delay, cause)
  }
}
