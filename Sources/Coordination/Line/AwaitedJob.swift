public import Domain
import FoundationEssentials
import JSON
import Redis

/// A job whose turn in the line has come.
public struct AwaitedJob: Sendable {
  public let job: Job
  /// The number of the attempt that it waits for, from 1.
  public let attempt: Int
  /// Names its copy at the broker.
  public let copy: String
  /// How long it was in the line.
  public let waited: Duration
  public let lease: Lease
  /// Its run, for the messages that follow.
  public let run: Int64

  /// Creates a value.
  public init(job: Job, attempt: Int, copy: String, waited: Duration, lease: Lease, run: Int64 = 0) {
    (self.job, self.attempt, self.copy, self.waited, self.lease) = (job, attempt, copy, waited, lease)
    self.run = run
  }
}

/// The jobs whose turn has come, and when to look again.
public struct AwaitedJobs: Sendable {
  public var jobs: [AwaitedJob] = []
  /// How many jobs this build cannot read. Their copies come back from the broker, which knows what to do with them.
  public var unreadable = 0
  /// How long until a line is worth a look; `nil` if nobody waits.
  public var wait: Duration?

  /// Creates a value.
  public init(jobs: [AwaitedJob] = [], unreadable: Int = 0, wait: Duration? = nil) {
    (self.jobs, self.unreadable, self.wait) = (jobs, unreadable, wait)
  }

  /// Reads the answer of the script `next in line`; `nil` for any other reply.
  init?(_ value: RESPValue, doors: DoorCatalog) {
    guard let parts = value.array, parts.count == 2, let found = parts[0].array, let wait = parts[1].integer else {
      return nil
    }
    if wait >= 0 { self.wait = .milliseconds(min(wait, 86_400_000)) }
    for one in found {
      guard let parts = one.array, let lease = Lease(parts[at: 4]),
        let attempt = parts[at: 1].string.flatMap({ Int($0) }),
        (1...1_000_000).contains(attempt),
        let job = try? Job(JSONText(Array((parts[at: 0].string ?? "").utf8), limits: .own), doors: doors),
        job.defect == nil
      else {
        unreadable += 1
        continue
      }
      jobs.append(
        AwaitedJob(
          job: job, attempt: attempt, copy: parts[at: 2].string ?? "",
          waited: .milliseconds(min(max(0, parts[at: 3].integer ?? 0), 30 * 86_400_000)), lease: lease,
          run: max(0, parts[at: 5].string.flatMap { Int64($0) } ?? 0)))
    }
  }
}
