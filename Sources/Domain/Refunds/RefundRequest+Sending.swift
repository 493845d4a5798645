import Formats

/// What a worker does with a request that is due, and what follows from its call.
extension RefundRequest {
  /// What a worker must do.
  public enum Errand: Sendable, Equatable {
    /// Write the request down as it is now: it has ended, or waits again.
    case note(RefundRequest)
    /// Ask the policy once more: the customer may have consented since.
    case decide
    /// Send this answer.
    case send(ConsumptionAnswer)
  }

  /// Decides what to do with a request that is due.
  ///
  /// The consent must stand when the answer is sent, not only when Apple asked. If the customer has withdrawn it, the
  /// publisher is asked.
  ///
  /// - Parameters:
  ///   - consent: the customer's present decision.
  ///   - now: milliseconds since 1970.
  public func errand(_ consent: Consent?, now: Int64) -> Errand {
    var next = self
    guard now < deadline, state.isPending else {
      next.end(as: state.isPending ? .expired : state, at: now)
      return .note(next)
    }
    guard state == .sending, let answer else { return .decide }
    guard answeredBy == .policy, customerId == nil || consent?.isGiven != true else { return .send(answer) }
    next.ask()
    return .note(next)
  }

  /// Leaves the answer to the publisher.
  public mutating func ask() {
    state = .open
    (answer, answeredBy, consent) = (nil, nil, nil)
    dueAt = deadline
  }

  /// Whether the publisher must be told that it has to answer after all.
  ///
  /// The policy's answer was on its way, and the publisher may believe that it need not do anything. Now the customer
  /// has withdrawn the consent, or Apple refuses the answer. A refused answer of the publisher's own is not told: a
  /// backend that answers each event in the same way would go round and round.
  ///
  /// - Parameter before: the request before the change.
  public func mustBeAsked(after before: RefundRequest) -> Bool {
    before.state == .sending && before.answeredBy == .policy && (state == .open || state == .refused)
  }

  /// What became of a call.
  public enum CallResult: Sendable, Equatable {
    /// Apple has the answer.
    case sent
    /// Apple does not take this answer, and will not take it later.
    case refused(String)
    /// It is not known whether Apple has the answer, or Apple may take it later.
    case failed(String)
    /// No call was made. The next one may be made at a time, in milliseconds since 1970.
    case postponed(String, until: Int64)
  }

  /// The request after a call.
  ///
  /// - Parameter now: milliseconds since 1970.
  public func after(_ result: CallResult, now: Int64) -> RefundRequest {
    var next = self
    switch result {
    case .sent:
      next.attempts += 1
      next.lastError = nil
      next.end(as: .answered, at: now)
    case .refused(let error):
      next.attempts += 1
      next.lastError = error
      next.end(as: .refused, at: now)
    case .failed(let error):
      next.attempts += 1
      next.lastError = error
      next.dueAt = retry(at: now.adding(Self.pause(after: next.attempts)), now)
    case .postponed(let error, let time):
      next.lastError = error
      next.dueAt = retry(at: max(time, now.adding(1000)), now)
    }
    return next
  }

  /// The last try comes this long before the deadline, so that there is time for its call.
  static let lastTry: Int64 = 60_000

  private func retry(at time: Int64, _ now: Int64) -> Int64 {
    let last = deadline.adding(-Self.lastTry)
    return time <= last ? time : now < last ? last : min(time, deadline)
  }

  /// Seconds at first, and a quarter of an hour in the end.
  private static func pause(after attempts: Int) -> Int64 { min(1000 << Int64(min(attempts, 20)), 900_000) }
}
