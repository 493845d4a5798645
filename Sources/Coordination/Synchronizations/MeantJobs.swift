/// The jobs that a command is about: each once, however often Redis shows it, and all of them before the first changes.
///
/// It keeps their names only.
public struct MeantJobs: Sendable {
  /// The most jobs of one command: their names take some 200 MB, and 400 MB if their ids have 256 bytes (calculated).
  public static let most = 1_000_000

  /// The first jobs, as many as the command changes.
  public private(set) var kept: [OpenJob.Name] = []
  /// Whether there were more than it can hold. The others are not in the count.
  public private(set) var isFull = false
  private var seen: Set<OpenJob.Name> = []
  private let keeping: Int
  private let most: Int

  /// Creates an empty list.
  ///
  /// - Parameters:
  ///   - keeping: the most jobs that the command changes.
  ///   - most: the most jobs that it counts.
  public init(keeping: Int, most: Int = Self.most) { (self.keeping, self.most) = (keeping, most) }

  /// How many different jobs there are.
  public var count: Int { seen.count }

  /// Adds a job.
  ///
  /// - Returns: whether it is a new one that has room.
  public mutating func insert(_ name: OpenJob.Name) -> Bool {
    guard !seen.contains(name) else { return false }
    guard seen.count < most else {
      isFull = true
      return false
    }
    seen.insert(name)
    if kept.count < keeping { kept.append(name) }
    return true
  }
}
