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
  /// The publisher's file has a mistake, so nobody knows its apps. As with a refused key, only a person can mend that.
  case brokenPublisher(wait: Duration)
  /// A failure that may pass. It counts as an attempt.
  case failed(RetryCause)
  /// The worker made no call, because the budget is used up or paused. This does not count as an attempt.
  case postponed(RetryCause, wait: Duration)
}
