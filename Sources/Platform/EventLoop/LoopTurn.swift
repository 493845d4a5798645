/// What one turn of the loop did. A turn is the work between two polls; the wait for the descriptors is no part of it.
public struct LoopTurn: Sendable {
  /// How long the turn took.
  public let duration: Duration
  /// The piece of work that took longest.
  public let longest: LoopWork
  /// How long that piece took, to some milliseconds.
  public let longestDuration: Duration
  /// How many jobs of the runtime the turn ran.
  public let jobs: Int
}

/// A turn that another thread sees before it has ended.
public struct UnfinishedTurn: Sendable, Equatable {
  /// When it began, by the monotonic clock in nanoseconds. No two turns of a process have the same begin.
  public let began: UInt64
  /// What runs now.
  public let work: LoopWork

  /// Creates a turn.
  public init(began: UInt64, work: LoopWork) {
    self.began = began
    self.work = work
  }
}

/// Finds the longest piece of work of a turn, by value. Times are nanoseconds of one clock.
struct TurnMeasure {
  /// The piece that took longest so far, among the ended ones.
  private(set) var longest = LoopWork.jobs
  private(set) var longestTime: UInt64 = 0
  private var present = LoopWork.jobs
  private var since: UInt64 = 0

  /// Begins a turn with its first piece of work.
  init(_ work: LoopWork, at now: UInt64) {
    present = work
    since = now
    longest = work
  }

  /// Ends the present piece of work, and begins the next one.
  mutating func begin(_ work: LoopWork, at now: UInt64) {
    end(at: now)
    present = work
  }

  /// Ends the present piece of work.
  mutating func end(at now: UInt64) {
    // The clock is monotonic. The check only keeps a wrong clock from ending the process.
    let time = now > since ? now - since : 0
    if time > longestTime { (longest, longestTime) = (present, time) }
    since = now
  }
}
