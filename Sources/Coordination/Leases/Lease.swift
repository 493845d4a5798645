/// A worker's right to run a synchronization now.
public struct Lease: Sendable, Equatable {
  /// Names the lease: only its holder renews and ends it. It grows with every lease of the transaction.
  public let fence: Int64
  /// The known place of the transaction, a `AppleRoute` as its text.
  public let route: String?
  /// When the worker took the lease, by Redis' clock, in milliseconds since 1970.
  public let takenAt: Int64?
  /// How many runs of the synchronization just before this one, in a row, seem to have ended by a crash.
  ///
  /// Such a run neither finalized the synchronization nor gave it back, and nobody acknowledged its delivery.
  public let crashes: Int
  /// The first call that the run may make.
  public let call: CallPermit?
  /// The purchase about which Apple has spoken a moment ago. The run needs no call.
  public let covered: CoveredPurchase?
  /// How often the broker has delivered the job until now.
  public let deliveries: Int

  /// Creates a lease.
  public init(
    fence: Int64, route: String?, takenAt: Int64? = nil, crashes: Int = 0, call: CallPermit? = nil,
    covered: CoveredPurchase? = nil, deliveries: Int = 1
  ) {
    self.fence = fence
    self.route = route
    self.takenAt = takenAt
    self.crashes = crashes
    self.call = call
    self.covered = covered
    self.deliveries = deliveries
  }
}

/// The answer to an attempt to take a lease.
public indirect enum LeaseAnswer: Sendable, Equatable {
  case taken(Lease)
  /// Another run has the lease for this long at most.
  case busy(Duration)
  /// The job is in the line, and waits for this long if nobody else comes.
  ///
  /// - Parameter copy: names the copy of the job that must stay at the broker.
  case inLine(Duration, copy: String)
  /// Another message has taken the delivery's place: it is a copy of the job, or of an earlier run.
  case superseded
  /// The synchronization is finalized. The outbox has its event until the broker has confirmed it.
  case finalized
  /// The job's synchronizationId has become that of another registration. The gateway has promised nothing for this
  /// one.
  case foreign
}
