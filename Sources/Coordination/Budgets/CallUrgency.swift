public import Domain

/// How urgent a call to Apple is. What is less urgent takes what the others leave.
public enum CallUrgency: String, Sendable, CaseIterable {
  /// Somebody waits for its answer.
  case awaited
  /// Nobody waits, for example for a look at a purchase whose timer is due.
  case later
  /// It is one of very many, as in an import.
  case bulk

  /// That of a job's calls.
  public init(of lane: JobLane) {
    switch lane {
    case .usual: self = .awaited
    case .bulk: self = .bulk
    }
  }
}
