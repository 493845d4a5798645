/// Everything that was seen of one run from the outside.
struct History {
  /// What a gateway answered to a registration.
  enum Answer: Hashable {
    case accepted
    /// 409: another synchronization of the transaction was running.
    case conflict
    /// 503, before anything was promised.
    case unavailable
    /// The connection was refused. The request may have been sent before, on a connection that was kept alive and broke off:
    /// libcurl tries such a one once more on a connection of its own.
    case refused
    /// The request may have been taken, but no answer came.
    case unknown
    /// Something that no fault explains.
    case unexpected(Int)
  }

  struct Registration {
    let id: String
    let transaction: String
    var customer = 0
    /// Milliseconds since 1970.
    let sentAt: Int64
    let answeredAt: Int64
    let answer: Answer
  }

  struct Event {
    let at: Int64
    let id: String
    let synchronizationId: String
    /// 0 for a webhook, which does not carry it.
    let version: Int64
    let result: String
    /// The offer that is granted; `nil` without access, and for a webhook, which is checked by its signature.
    var offer: String?
  }

  struct Status {
    let isFinalized: Bool
    let version: Int64
    let result: String
    var offer: String?
  }

  struct Call: Hashable {
    let time: Int64
    let environment: String
    let endpoint: String
    let transaction: String
    /// From a 429: no further call before this.
    var retryAt: Int64?
  }

  var registrations: [Registration] = []
  /// Each transaction once more, after everything was mended.
  var lastRegistrations: [Registration] = []
  var events: [Event] = []
  var webhooks: [Event] = []
  /// Deliveries whose signature was wrong.
  var forgedWebhooks = 0
  /// The last status of each synchronization that was accepted or told; none for one that is not known any more.
  var statuses: [String: Status] = [:]
  /// Successful reads behind an event.
  var statusReads = 0
  /// Synchronizations whose status was read behind an event that had been seen.
  var staleReads: [String] = []
  /// Transactions that could not be registered again at the end, with what was answered.
  var stillClaimed: [String: String] = [:]
  var calls: [Call] = []
  /// When the checker itself did not come to look for a while: what it saw next may have happened all the while.
  var stalls: [(time: Int64, milliseconds: Int64)] = []
  var faults: [String] = []
  /// When the sweep first enqueued a synchronization again, in milliseconds since 1970.
  var sweeps: [String: Int64] = [:]
  /// Deliveries that the broker marked as given out before. It also marks what it took back, when a consumer was cancelled,
  /// before that consumer had been sent it; so this is only told, and who was sent something twice is seen by its effects.
  var redeliveries = 0
  /// Deliveries that a process had taken and gave back.
  var handedBack = 0
  /// Runs whose result the fencing number refused, because a later lease had been given out.
  var staleRuns = 0
  /// Times at which somebody had to wait for Apple's budget.
  var budgetWaits = 0
  /// Transactions whose claim outlived their last synchronization for a moment, though every client had its answer.
  var lingeringClaims: [String] = []
  /// When Redis was last there again with nothing in it, in milliseconds since 1970.
  var wipedAt: Int64?
  /// What could not be read of a role's metrics.
  var unreadMetrics: [String] = []

  /// What must come to its end.
  var accepted: [Registration] { registrations.filter { $0.answer == .accepted } }
}
