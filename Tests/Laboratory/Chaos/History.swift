import Fleets

/// Everything that the checker saw of one run from the outside.
struct History {
  /// A gateway's answer to a registration.
  enum Answer: Hashable {
    case accepted
    /// 409: another synchronization of the transaction was running.
    case conflict
    /// 503, before the gateway promised anything.
    case unavailable
    /// The connection was refused. libcurl may have sent the request before, on a kept-alive connection that broke
    /// off: it then tries once more on a new connection.
    case refused
    /// The gateway may have taken the request, but no answer came.
    case unknown
    /// A status that no fault explains.
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
    /// Why no answer came; `nil` if one came.
    var cause: String?
  }

  struct Event {
    let at: Int64
    let id: String
    let synchronizationId: String
    /// The version of the purchase; 0 without a purchase. A webhook has none.
    let version: Int64
    let result: String
    /// The offer that the customer may access. `nil` without access, and for a webhook: its signature proves its
    /// content.
    var offer: String?
    /// The message.
    var body: [UInt8] = []
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
    var connection = 0
    /// Apple reset the connection in place of an answer.
    var isReset = false
    /// From a 429: Apple forbids further calls before this time.
    var retryAt: Int64?
  }

  var registrations: [Registration] = []
  /// The registrations of each transaction once more, after every fault had ended.
  var lastRegistrations: [Registration] = []
  var events: [Event] = []
  var webhooks: [Event] = []
  /// The changes of entitlements, in the order of their arrival.
  var changes: [RunningFleet.EntitlementChange] = []
  /// The entitlements of each customer at the end.
  var entitlements: [String: RunningFleet.Entitlements] = [:]
  /// What in the ledger does not follow from the evidence that it keeps.
  var ledgerDifferences: [String] = []
  /// Customers whose entitlements could not be read at the end.
  var unreadEntitlements: [String] = []
  /// Deliveries whose signature was wrong.
  var forgedWebhooks = 0
  /// The last status of each synchronization that a gateway accepted or an event told; no entry if no gateway knows
  /// it.
  var statuses: [String: Status] = [:]
  /// Successful reads of a status behind an event.
  var statusReads = 0
  /// Successful reads of a purchase, or of a customer's entitlements, behind an event.
  var ledgerReads = 0
  /// What was read behind an event, and was older than it.
  var staleReads: [String] = []
  /// Whether purchases lose their access on purpose after their synchronizations. A status tells the access of now.
  var mayLoseAccess = false
  /// Transactions that could not be registered again at the end, with the answer.
  var stillClaimed: [String: String] = [:]
  var calls: [Call] = []
  /// The times when the checker itself could not look for a while. Anything that it saw next may have happened at any
  /// time in between.
  var stalls: [(time: Int64, milliseconds: Int64)] = []
  var faults: [String] = []
  /// What the scenario compared, with numbers.
  var measures: [String] = []
  /// When the sweep first enqueued a synchronization again, in milliseconds since 1970.
  var sweeps: [String: Int64] = [:]
  /// What it enqueued again because a worker had it from the line and did not end it. That is its way back.
  var sweptFromHands: Set<String> = []
  /// Deliveries that the broker marked as redelivered. When a consumer is cancelled, the broker also marks messages
  /// that it had not yet sent to it. So this is a figure only: the effects show which messages ran twice.
  var redeliveries = 0
  /// Deliveries that a process had taken and gave back.
  var handedBack = 0
  /// Runs whose result the worker dropped, because its lease had ended.
  var staleRuns = 0
  /// How often a worker had to wait for Apple's budget.
  var budgetWaits = 0
  /// Transactions whose claim outlived their last synchronization for a moment, though every client had its answer.
  var lingeringClaims: [String] = []
  /// The calls of the doors.
  var doorVisits: [Chaos.DoorVisit] = []
  /// What a door accepted and no event has told.
  var unansweredDoors: [String] = []
  /// The owners of the purchases that the doors promised, by transaction; empty for none.
  var doorOwners: [String: String] = [:]
  /// What sweeps repaired in a fleet in which nothing was broken.
  var repairs: [String] = []
  /// What the checker waited for in vain after the load.
  var vainWaits: [String] = []
  /// The roles whose metrics could not be read.
  var unreadMetrics: [String] = []

  /// The registrations that the fleet must finalize.
  var accepted: [Registration] { registrations.filter { $0.answer == .accepted } }
}
