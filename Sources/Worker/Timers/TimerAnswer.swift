import Domain
import EventLoop
import Formats

/// What a look at a purchase tells the ledger, by value, and the label under which it counts.
struct TimerAnswer: Equatable {
  let label: String
  let answer: PurchaseUpdate.Answer

  /// Our own clock decides: Apple needs not be asked.
  static let own = TimerAnswer(label: "own", answer: .told)
  /// The publisher's file has no app to ask with.
  static let noApp = TimerAnswer(label: "no_app", answer: .away(until: nil))
  /// Redis is away, which has the budgets.
  static let storeUnavailable = TimerAnswer(label: RetryCause.storeUnavailable.rawValue, answer: .away(until: nil))

  /// No call was made. The next look comes after the wait.
  static func postponed(_ cause: RetryCause, _ wait: Duration, now: Int64) -> TimerAnswer {
    TimerAnswer(
      label: cause.rawValue, answer: .away(until: now.adding(max(1000, Int64(clamping: wait.wholeMilliseconds)))))
  }

  /// What follows from an attempt to ask Apple. What was not accepted tells nothing: the ledger keeps what it knows.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func after(_ result: AttemptResult, now: Int64) -> TimerAnswer {
    switch result {
    case .verified: TimerAnswer(label: "told", answer: .told)
    case .unknownTransaction: TimerAnswer(label: "unknown", answer: .unknown)
    case .rejected: TimerAnswer(label: "rejected", answer: .away(until: nil))
    case .brokenPublisher: TimerAnswer(label: RetryCause.publisherBroken.rawValue, answer: .away(until: nil))
    case .refused: TimerAnswer(label: RetryCause.unauthorized.rawValue, answer: .away(until: nil))
    case .failed(let cause): TimerAnswer(label: cause.rawValue, answer: .away(until: nil))
    case .postponed(let cause, let wait): postponed(cause, wait, now: now)
    }
  }
}
