/// What a verification says. It gives the payload only if everything was checked.
public enum Verdict<Payload: Sendable>: Sendable {
  /// Signature, chain, app and environment are right.
  case accepted(Payload)
  /// The data is wrong, and stays wrong at every further try.
  case rejected(Rejection)
  /// The verification could not be finished now.
  ///
  /// No verification returns this as long as it needs no network. Callers handle it, so that a revocation check can be
  /// added without changing them.
  case tryLater(Rejection)

  /// The payload of an accepted verdict.
  public var payload: Payload? {
    if case .accepted(let payload) = self { payload } else { nil }
  }

  /// Why the data is not accepted.
  public var rejection: Rejection? {
    switch self {
    case .accepted: nil
    case .rejected(let rejection), .tryLater(let rejection): rejection
    }
  }

  /// Returns the same verdict with another payload.
  public func map<Other: Sendable>(_ change: (Payload) -> Other) -> Verdict<Other> {
    switch self {
    case .accepted(let payload): .accepted(change(payload))
    case .rejected(let rejection): .rejected(rejection)
    case .tryLater(let rejection): .tryLater(rejection)
    }
  }

  /// Runs a verification that throws its rejection.
  init(_ body: () throws(Rejection) -> Payload) {
    do {
      self = .accepted(try body())
    } catch {
      self = .rejected(error)
    }
  }
}

extension Verdict: Equatable where Payload: Equatable {}
