import Domain
import EventLoop

/// What an attempt to deliver came to, decided by value.
enum AttemptVerdict: Equatable {
  case delivered
  /// Try again after this delay.
  case again(Duration, cause: String)
  /// No further attempt: the schedule is used up.
  case abandoned(String)
  /// No further attempt, and none for any other event: the endpoint says that it is gone.
  case gone

  /// Judges an answer: 2xx is success, redirects are not followed, 410 ends it, 429 and 503 may set the pace.
  ///
  /// - Parameters:
  ///   - retryAfter: what the header of the answer asks for.
  ///   - attempt: the number of the attempt that was made, from 1.
  ///   - schedule: the delay before each further attempt.
  ///   - jitter: between 0.8 and 1.2, by chance: what failed together does not come back together.
  init(status: Int, retryAfter: Duration?, attempt: Int, schedule: [Duration], jitter: Double) {
    switch status {
    case 200..<300: self = .delivered
    case 410: self = .gone
    default:
      let asked = [429, 503].contains(status) ? retryAfter ?? .zero : .zero
      self.init(
        failedWith: "status \(status)", attempt: attempt, schedule: schedule, jitter: jitter,
        notBefore: min(asked, RetryAfter.longest))
    }
  }

  /// Judges a failure without an answer.
  init(failedWith cause: String, attempt: Int, schedule: [Duration], jitter: Double, notBefore: Duration = .zero) {
    guard attempt <= schedule.count else {
      self = .abandoned("\(cause), after \(attempt) attempt\(attempt == 1 ? "" : "s")")
      return
    }
    let delay = Duration.milliseconds(Int64(Double(schedule[attempt - 1].wholeMilliseconds) * jitter))
    self = .again(max(delay, notBefore), cause: cause)
  }

  /// What the log calls it.
  var outcome: DeliveryAttempt.Outcome {
    switch self {
    case .delivered: .delivered
    case .again: .failed
    case .abandoned, .gone: .abandoned
    }
  }

  /// What went wrong, for the log; `nil` when nothing did.
  var error: String? {
    switch self {
    case .delivered: nil
    case .again(_, let cause): cause
    case .abandoned(let reason): reason
    case .gone: "410 Gone"
    }
  }
}

extension WebhookEndpoint.Retry {
  /// The delay before each further attempt.
  func schedule(standard: [Duration]) -> [Duration] {
    switch self {
    case .standard: standard
    case .never: []
    case .schedule(let delays): delays
    }
  }
}
