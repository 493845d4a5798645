import Formats

/// What a notification does to the requests about a transaction.
extension RefundRequest {
  /// What follows from a notice.
  public enum Step: Sendable, Equatable {
    /// Nothing: it is stale, or about nothing that we know.
    case nothing
    /// Apple has only asked again: `seenAt` of the known request changes, and nothing else.
    case seen(RefundRequest)
    /// The known request changes, and nobody is told.
    case changed(RefundRequest)
    /// A request begins. The one before, if it was pending, ends.
    case begun(RefundRequest, ended: RefundRequest?)
  }

  /// Decides what a notice means.
  ///
  /// Apple repeats a question under new UUIDs, and notifications come in any order. So a question is a repeat unless
  /// Apple signed it after the known request had ended for Apple: after we sent the answer, after Apple decided, or
  /// after the deadline. A publisher who withholds the answer, and an answer that Apple refused, end nothing for Apple:
  /// it goes on to ask. The first question that reaches us begins the request: Apple gives twelve hours for each.
  ///
  /// Apple's decision ends every request that Apple has no answer to, at the time when Apple signed it: questions are
  /// compared with that time, and Apple's clock dates both.
  ///
  /// - Parameters:
  ///   - known: the latest request about the transaction.
  ///   - purchase: the purchase, with the transaction as it is known now.
  ///   - now: milliseconds since 1970.
  public static func step(
    _ notice: RefundNotice, after known: RefundRequest?, of purchase: Purchase, now: Int64
  ) -> Step {
    switch notice.kind {
    case .decided:
      guard var request = known, request.state.awaitsDecision, notice.signedDate > request.requestedAt
      else { return .nothing }
      request.end(as: .decided, at: notice.signedDate)
      return .changed(request)
    case .asked(let reason):
      // It may have ended by a clock that is behind. A question that was seen begins nothing again.
      if let known, notice.signedDate <= known.seenAt { return .nothing }
      if var request = known, notice.signedDate < request.endForApple {
        request.seenAt = notice.signedDate
        return .seen(request)
      }
      return begin(reason, notice, known, purchase, now)
    }
  }

  private static func begin(
    _ reason: String?, _ notice: RefundNotice, _ known: RefundRequest?, _ purchase: Purchase, _ now: Int64
  ) -> Step {
    guard let facts = purchase.transactions[notice.transactionId],
      // A question that was found in the history, too late to be answered.
      now < notice.signedDate.adding(Self.patience),
      // Apple has paid back since it asked.
      facts.revocationDate.map({ $0 < notice.signedDate }) ?? true
    else { return .nothing }
    var ended = known?.state.isPending == true ? known : nil
    ended?.end(as: .expired, at: now)
    return .begun(
      RefundRequest(facts, of: purchase, reason: reason, requestedAt: notice.signedDate), ended: ended)
  }

  /// From when on a question of Apple's is a new one, in milliseconds since 1970.
  private var endForApple: Int64 {
    switch state {
    case .answered, .decided: min(endedAt ?? deadline, deadline)
    case .open, .sending, .withheld, .refused, .expired: deadline
    }
  }

  /// Ends the request.
  mutating func end(as state: State, at time: Int64) {
    self.state = state
    dueAt = nil
    endedAt = time
  }
}
