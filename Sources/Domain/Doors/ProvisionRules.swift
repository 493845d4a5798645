import Formats

/// When a gateway looks at the jobs of a request while Apple is away, and what follows from each look.
///
/// For example, a job that is retrying because Apple answers with errors gives access, if its evidence is fresh. A job
/// that waits for the fleet's own budget does not: Apple is not away.
public struct ProvisionRules: Sendable, Equatable {
  /// What follows from one look at a job.
  public enum Step: Sendable, Equatable {
    /// Apple is away. The customer may have access until this time, in milliseconds since 1970.
    case grant(until: Int64)
    /// Nobody can say yet. The gateway looks again.
    case wait
    /// Nothing follows any more: Apple has answered, or the evidence has become too old.
    case end
  }

  private let rule: GrantWhileAppleIsAway
  private let evidenceCreatedAt: Int64

  /// Creates the rules for one piece of evidence.
  ///
  /// - Parameter evidenceCreatedAt: when Apple made it, in milliseconds since 1970.
  public init(_ rule: GrantWhileAppleIsAway, evidenceCreatedAt: Int64) {
    self.rule = rule
    self.evidenceCreatedAt = evidenceCreatedAt
  }

  /// Whether the evidence may still give access. It becomes older from look to look, so each look asks.
  ///
  /// - Parameter now: milliseconds since 1970.
  public func isFresh(at now: Int64) -> Bool {
    .milliseconds(now.subtracting(evidenceCreatedAt)) <= rule.maxEvidenceAge
  }

  /// What follows from a look.
  ///
  /// - Parameters:
  ///   - status: the state of the job's synchronization; `nil` if the store has forgotten it.
  ///   - cause: why it is retrying.
  ///   - now: milliseconds since 1970.
  public func step(_ status: Synchronization.Status?, _ cause: RetryCause?, now: Int64) -> Step {
    guard isFresh(at: now), status != .finalized else { return .end }
    guard status == .retrying, cause?.isAppleAway == true else { return .wait }
    return .grant(until: now + JobDelayQueue.milliseconds(rule.limit))
  }

  /// The pauses before the looks.
  ///
  /// - Parameter isAwaited: whether the caller still waits. The first look then comes at once, because the caller has
  ///   waited for a while and the answer may show what it brings. Otherwise the job has only just been accepted.
  public static func pauses(isAwaited: Bool) -> [Duration] { (isAwaited ? [.zero] : []) + later }

  private static let later: [Duration] = [2, 5, 10, 20, 30, 60, 120, 300, 600].map { .seconds($0) }
}
