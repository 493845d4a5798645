import Domain
import Testing

/// The next step after an attempt.
struct NextStepTests {
  private let policy = JobRetryPolicy(schedule: [.seconds(1), .seconds(5), .seconds(60)], notFoundRetries: 2)

  private func step(_ result: AttemptResult, attempt: Int, policy: JobRetryPolicy? = nil) -> NextStep {
    .after(result, attempt: attempt, policy: policy ?? self.policy)
  }

  @Test(arguments: [1, 3, 4, 1000]) func verifiedEvidenceIsDecidedAtEveryAttempt(attempt: Int) {
    #expect(step(.verified, attempt: attempt) == .decide)
  }

  @Test(arguments: [1, 4, 1000]) func rejectedConcludesWithoutAccess(attempt: Int) {
    for result: ResultCode in [.appMismatch, .verificationFailed, .transactionIdNotFound] {
      #expect(step(.rejected(result), attempt: attempt) == .finalize(result))
    }
  }

  @Test func failuresFollowTheScheduleAndThenEnd() {
    #expect(step(.failed(.network), attempt: 1) == .retry(attempt: 2, after: .seconds(1), .network))
    #expect(step(.failed(.timeout), attempt: 2) == .retry(attempt: 3, after: .seconds(5), .timeout))
    #expect(step(.failed(.appleError), attempt: 3) == .retry(attempt: 4, after: .seconds(60), .appleError))
    #expect(step(.failed(.network), attempt: 4) == .finalize(.internalError))
    #expect(step(.failed(.network), attempt: 5) == .finalize(.internalError))
  }

  @Test(arguments: [1, 4, 1_000_000]) func aRefusedKeyIsWaitedForThirtyDays(attempt: Int) {
    func step(_ age: Duration) -> NextStep {
      .after(.refused(wait: .seconds(5)), attempt: attempt, policy: policy, age: age)
    }
    let again = NextStep.retry(attempt: attempt, after: .seconds(5), .unauthorized)
    #expect(step(.zero) == again && step(.seconds(30 * 86_400 - 1)) == again)
    #expect(step(.seconds(30 * 86_400)) == .finalize(.internalError))
  }

  @Test(arguments: [1, 4, 1_000_000]) func `a publisher's file is waited for as long`(attempt: Int) {
    func step(_ age: Duration) -> NextStep {
      .after(.brokenPublisher(wait: .seconds(7)), attempt: attempt, policy: policy, age: age)
    }
    let again = NextStep.retry(attempt: attempt, after: .seconds(7), .publisherBroken)
    #expect(step(.zero) == again && step(.seconds(30 * 86_400 - 1)) == again)
    #expect(step(.seconds(30 * 86_400)) == .finalize(.internalError))
    #expect(RetryCause.allCases.filter(\.waitsForPerson) == [.unauthorized, .publisherBroken])
  }

  @Test func withoutAScheduleTheFirstFailureEnds() {
    let policy = JobRetryPolicy(schedule: [], notFoundRetries: 0)
    #expect(step(.failed(.network), attempt: 1, policy: policy) == .finalize(.internalError))
  }

  @Test func unknownTransactionIsTriedAgainTwice() {
    #expect(step(.unknownTransaction, attempt: 1) == .retry(attempt: 2, after: .seconds(1), .notFoundYet))
    #expect(step(.unknownTransaction, attempt: 2) == .retry(attempt: 3, after: .seconds(5), .notFoundYet))
    #expect(step(.unknownTransaction, attempt: 3) == .finalize(.transactionIdNotFound))
    #expect(step(.unknownTransaction, attempt: 9) == .finalize(.transactionIdNotFound))
    let none = JobRetryPolicy(schedule: [.seconds(1)], notFoundRetries: 0)
    #expect(step(.unknownTransaction, attempt: 1, policy: none) == .finalize(.transactionIdNotFound))
  }

  /// Apple's last answer was that it knows no such transaction. That is the result, and no internal error.
  @Test
  func unknownTransactionWithAUsedUpSchedule() {
    let policy = JobRetryPolicy(schedule: [.seconds(1)], notFoundRetries: 5)
    #expect(
      step(.unknownTransaction, attempt: 1, policy: policy) == .retry(attempt: 2, after: .seconds(1), .notFoundYet))
    #expect(step(.unknownTransaction, attempt: 2, policy: policy) == .finalize(.transactionIdNotFound))
  }

  @Test(arguments: [1, 4, 5, 1_000_000]) func postponingDoesNotCount(attempt: Int) {
    #expect(
      step(.postponed(.budget, wait: .milliseconds(200)), attempt: attempt)
        == .retry(attempt: attempt, after: .milliseconds(200), .budget))
    #expect(
      step(.postponed(.rateLimited, wait: .seconds(86_400)), attempt: attempt)
        == .retry(attempt: attempt, after: .seconds(86_400), .rateLimited))
  }
}
