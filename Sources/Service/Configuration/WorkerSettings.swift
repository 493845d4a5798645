import Domain

/// The worker: jobs in, events out.
public struct WorkerSettings: Sendable {
  public var listen: ListenAddress
  /// Jobs that run at once; also the prefetch.
  public var concurrency: Int
  /// Looks at purchases, without a waiting customer, that run at once.
  public var timerConcurrency: Int
  /// How often the Notification History of each app is read.
  public var historyInterval: Duration
  public var leaseDuration: Duration
  /// Delay before each further attempt. After the last attempt the result is `INTERNAL_ERROR`.
  public var retrySchedule: [Duration]
  /// Further attempts when Apple does not know a transaction. It may be too new for Apple.
  public var notFoundRetries: Int
  /// How long the next registrations of a transaction need no call to Apple when one has given access.
  public var answerReuse: Duration
  /// How long a client can read a finalized status.
  public var statusRetention: Duration
  /// How long an applied notification of Apple's is kept.
  public var notificationRetention: Duration
  /// How often the sweep looks for open synchronizations that no queue holds.
  public var sweepInterval: Duration
  /// The age at which the sweep looks at an open synchronization.
  public var sweepAfter: Duration

  init(_ reader: SettingsReader) {
    listen = ListenAddress(
      reader, "worker.listen", "127.0.0.1:9101", "Address and port of /livez, /readyz and /metrics.")
    concurrency = Int(
      reader.int(
        "worker.concurrency", 200, 1...10_000,
        "How many jobs of one publisher may run at the same time in one process. All publishers together may have a "
          + "third more."))
    timerConcurrency = Int(
      reader.int(
        "worker.timerConcurrency", 100, 0...10_000,
        "How many looks at purchases with due timers may run at the same time in one process. 0: the process makes "
          + "none."))
    historyInterval = reader.seconds(
      "worker.historyIntervalSeconds", 3600, 1...86_400,
      "How often workers read the Notification History of each app, to find notifications that did not arrive.")
    leaseDuration = reader.seconds(
      "worker.leaseSeconds", 15, 0.5...600, "If a worker is silent for this long, another worker takes over its jobs.")
    retrySchedule = reader.secondsList(
      "worker.retryScheduleSeconds", [1, 5, 30, 120, 600] + Array(repeating: 3600, count: 23),
      "Delay before each further attempt. An attempt may come later, by at most a second or a tenth of the delay.")
    notFoundRetries = Int(
      reader.int("worker.notFoundRetries", 2, 0...20, "Further attempts while Apple does not know a transaction."))
    answerReuse = reader.seconds(
      "worker.answerReuseSeconds", 3, 0...60,
      "How long a verified answer that gives access also serves further registrations of the transaction.")
    statusRetention = reader.seconds(
      "worker.statusRetentionSeconds", 2_592_000, 60...31_536_000, "How long a finalized status can be read.")
    // Not shorter: a reading of Notification History after an outage would keep them again as new.
    notificationRetention = reader.seconds(
      "worker.notificationRetentionSeconds", 15_552_000, 2_592_000...315_360_000,
      "How long the ledger keeps a notification from Apple after it arrived. Apple itself keeps it for 180 days.")
    sweepInterval = reader.seconds(
      "worker.sweepIntervalSeconds", 30, 0.1...3600,
      "How often workers look for open synchronizations that no queue holds.")
    sweepAfter = reader.seconds(
      "worker.sweepAfterSeconds", 120, 0.1...86_400,
      "Age at which a worker enqueues an open synchronization again, if no queue seems to hold it.")
    // A copy of a job may wait for the longest delay while the original is finalized, and must find its status.
    let retry = retrySchedule.max() ?? .zero
    let longest = retry + JobDelayQueue.tolerance(of: retry) + sweepAfter
    if statusRetention < longest + .seconds(30) {
      reader.note(
        "worker.statusRetentionSeconds",
        "is too short, expected 30 seconds more than the longest retry, which may end a tenth later, and the sweep")
    }
  }
}
