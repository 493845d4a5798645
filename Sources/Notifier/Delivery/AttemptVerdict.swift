import HTTPClient
import Purchases

/// What an attempt to deliver came to, decided by value.
enum AttemptVerdict: Equatable {
  case delivered
  /// Try again after this delay.
  case again(Duration, cause: String)
  /// No further attempt: the schedule is used up, or the endpoint is gone.
  case abandoned(String)

  /// Judges an answer: 2xx is success, redirects are not followed, 410 ends it, 429 and 503 may set the pace.
  ///
  /// - Parameters:
  ///   - attempt: the number of the attempt that was made, from 1.
  ///   - retryAfter: seconds, from the header of the answer.
  init(status: Int, retryAfter: Int?, attempt: Int, schedule: [Duration]) {
    switch status {
    case 200..<300: self = .delivered
    case 410: self = .abandoned("410 Gone")
    default:
      let asked = [429, 503].contains(status) ? Duration.seconds(min(retryAfter ?? 0, 86_400)) : .zero
      self.init(failedWith: "status \(status)", attempt: attempt, schedule: schedule, notBefore: asked)
    }
  }

  /// Judges a failure without an answer.
  init(failedWith cause: String, attempt: Int, schedule: [Duration], notBefore: Duration = .zero) {
    guard attempt <= schedule.count else {
      self = .abandoned("\(cause), after \(attempt) attempts")
      return
    }
    self = .again(max(schedule[attempt - 1], notBefore), cause: cause)
  }
}
