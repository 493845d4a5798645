/// How many jobs one gateway looks at while Apple is away (``ProvisionRules``).
///
/// An outage of Apple's may last for hours, and each job that is looked at keeps its evidence in memory.
///
/// The jobs of one publisher may be three of four, so that the others are looked at too.
public struct LookLimit: Sendable, Equatable {
  private let most: Int
  private var counts: [Int64: Int] = [:]
  /// How many jobs are looked at now.
  public private(set) var count = 0

  /// Creates a limit.
  public init(most: Int) { self.most = most }

  /// Begins to look at some jobs.
  ///
  /// - Returns: whether they fit. If not, nothing has begun.
  public mutating func begin(_ jobs: Int, of publisher: Int64) -> Bool {
    guard count + jobs <= most, counts[publisher, default: 0] + jobs <= most * 3 / 4 else { return false }
    count += jobs
    counts[publisher, default: 0] += jobs
    return true
  }

  /// Ends what ``begin(_:of:)`` has begun.
  public mutating func end(_ jobs: Int, of publisher: Int64) {
    count -= jobs
    counts[publisher, default: jobs] -= jobs
    if counts[publisher] == 0 { counts[publisher] = nil }
  }
}
