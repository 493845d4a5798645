/// Who answers a request, and with what.
extension RefundRequest {
  /// Lets an answer be sent at once.
  ///
  /// - Parameters:
  ///   - consent: what the answer rests on.
  ///   - now: milliseconds since 1970.
  public mutating func send(_ answer: ConsumptionAnswer, by answerer: Answerer, _ consent: Consent?, now: Int64) {
    self.answer = answer
    self.consent = consent
    answeredBy = answerer
    state = .sending
    attempts = 0
    lastError = nil
    dueAt = now
    endedAt = nil
  }

  /// What the publisher wants to be done.
  public enum Wish: Sendable, Equatable {
    /// Send this. The publisher vouches for the customer's consent.
    case send(ConsumptionAnswer)
    /// Send nothing.
    case withhold
  }

  /// Why a wish cannot be fulfilled.
  public enum Refusal: Error, Equatable {
    /// Another answer is on its way to Apple.
    case isSending
    /// Apple has another answer.
    case isAnswered
    /// Apple has decided already.
    case isDecided
    /// The twelve hours are over.
    case isLate
  }

  /// Fulfils a wish. The same wish again changes nothing.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: whether anything changed.
  public mutating func fulfil(_ wish: Wish, now: Int64) throws(Refusal) -> Bool {
    if case .send(let wanted) = wish, wanted == answer, state != .refused {
      guard state == .sending, answeredBy == .policy else { return false }
      // It no longer rests on the recorded consent.
      (answeredBy, consent) = (.publisher, nil)
      return true
    }
    switch state {
    case .sending: throw .isSending
    case .answered: throw .isAnswered
    case .decided: throw .isDecided
    case .expired: throw .isLate
    case .withheld where wish == .withhold: return false
    case .open, .withheld, .refused: guard now < deadline else { throw .isLate }
    }
    switch wish {
    case .send(let wanted): send(wanted, by: .publisher, nil, now: now)
    case .withhold:
      answer = nil
      (answeredBy, consent) = (.publisher, nil)
      end(as: .withheld, at: now)
    }
    return true
  }
}
