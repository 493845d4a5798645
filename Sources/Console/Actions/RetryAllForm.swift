import Coordination
import Domain

/// Which synchronizations somebody wants to be tried now: all that wait for one reason, as they were counted.
struct RetryAllForm: Equatable {
  let cause: RetryCause
  /// `nil` for all publishers that the person may see.
  let publisher: PublisherId?
  /// What a preview has counted; `nil` before it.
  let counted: Counted?

  struct Counted: Equatable {
    /// So many are tried at most.
    let count: Int
    /// Only the ones registered until then, in milliseconds since 1970.
    let until: Int64
  }

  /// At most so many are tried at once: each takes a call of Apple's budget.
  static let most = 5000
  /// At most so many that are under way are looked at.
  static let mostLooked = 50_000

  /// Reads the form; `nil` for one that no page of the console makes.
  init?(_ body: FormBody) {
    guard let cause = body["cause"].flatMap(RetryCause.init(rawValue:)) else { return nil }
    let chosen = body["publisher"] ?? ""
    let publisher = PublisherId(chosen)
    guard chosen.isEmpty || publisher != nil else { return nil }
    (self.cause, self.publisher) = (cause, publisher)
    guard body["step"] == "confirm" else {
      counted = nil
      return
    }
    guard let count = body["count"].flatMap(Int.init), (1...Self.most).contains(count),
      let until = body["until"].flatMap({ Int64($0) }), until >= 0
    else { return nil }
    counted = Counted(count: count, until: until)
  }

  /// The filter of the chosen ones.
  ///
  /// - Parameter now: counts before a preview.
  func filter(at now: Int64) -> JobFilter {
    var filter = JobFilter()
    (filter.cause, filter.publisher, filter.registeredUntil) = (cause, publisher, counted?.until ?? now)
    return filter
  }

  /// What the form of the preview carries.
  func fields(_ count: Int, until: Int64) -> [(name: String, value: String)] {
    [
      ("cause", cause.rawValue), ("publisher", publisher.map { "\($0)" } ?? ""), ("count", "\(count)"),
      ("until", "\(until)"),
    ]
  }
}
