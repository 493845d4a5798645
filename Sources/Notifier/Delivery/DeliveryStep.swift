import Domain
import EventLoop

/// The step after an attempt to deliver, decided from values alone.
enum DeliveryStep: Equatable {
  case delivered
  /// The notifier tries again after this delay.
  case again(Duration, cause: String)
  /// There is no further attempt: the schedule is used up.
  case abandoned(String)
  /// There is no further attempt, for this or any other event: the endpoint says that it is gone.
  case gone

  /// Judges an answer.
  ///
  /// A 2xx is success. A 410 ends all attempts. A 429 or a 503 may set the pace. The notifier does not follow
  /// redirects.
  ///
  /// - Parameters:
  ///   - retryAfter: the delay that the answer's header asks for.
  ///   - attempt: the number of this attempt, from 1.
  ///   - schedule: the delay before each further attempt.
  ///   - jitter: a random factor from 0.8 to 1.2, so that events that failed together do not come back together.
  init(status: Int, retryAfter: Duration?, attempt: Int, schedule: [Duration], jitter: Double) {
    switch status {
    case 200..<300: self = .delivered
    case 410: self = .gone
    default:
      let asked = [429, 503].contains(status) ? retryAfter ?? .zero : .zero
      self.init(
        failedWith: "status \(status)", attempt: attempt, schedule: schedule, jitter: jitter,
        notBefore: min(asked, EndpointRetryAfter.longest))
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

  /// How the attempt ended, for the log of attempts.
  var result: DeliveryAttempt.Result {
    switch self {
    case .delivered: .delivered
    case .again: .failed
    case .abandoned, .gone: .abandoned
    }
  }

  /// The failure for the log of attempts; `nil` without a failure.
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
