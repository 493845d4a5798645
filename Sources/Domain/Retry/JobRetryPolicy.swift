/// How often the workers try a job, and how long a failed one waits before its next attempt. ``NextStep`` says what
/// counts as a failure. The numbers are settings: `worker.retryScheduleSeconds` and `worker.notFoundRetries`.
public struct JobRetryPolicy: Sendable {
  /// The delay before each further attempt.
  public let schedule: [Duration]
  /// Further attempts while Apple does not know the transaction, which may be newer than Apple's index.
  public let notFoundRetries: Int

  /// How long after its registration a job still waits for an app whose key Apple refuses (decision 0037), or for a
  /// publisher whose file has a mistake. A customer who has paid gets the purchase whenever somebody mends that.
  /// Nothing waits for ever.
  public static let patienceWithPersons = Duration.seconds(30 * 86_400)

  /// How many times a second the jobs of one publisher run together while they wait so, however many they are. A tenth
  /// of what one worker can do; a thousand jobs come to their turn within a minute.
  public static let waitingRunsPerSecond = 20

  /// Creates a policy.
  public init(schedule: [Duration], notFoundRetries: Int) {
    self.schedule = schedule
    self.notFoundRetries = notFoundRetries
  }

  /// How long a job waits after a failed attempt; `nil` if that was its last one.
  ///
  /// - Parameter attempt: its number, from 1.
  func delay(after attempt: Int) -> Duration? {
    attempt >= 1 && attempt <= schedule.count ? schedule[attempt - 1] : nil
  }
}
