import Ledger

/// What an erasure has erased, and what stays.
struct ErasureAnswer: Encodable, Equatable {
  let erased: Counts
  let kept: [Kept]

  /// Numbers of rows.
  struct Counts: Encodable, Equatable {
    let attemptResponses: Int
    let auditEntries: Int
    let consents: Int
    let events: Int
    let grants: Int
    let notes: Int
    let ownerships: Int
    let purchases: Int
    let refundRequests: Int
    let sandboxAccess: Int
    let synchronizations: Int
  }

  /// A thing that stays, and the reason.
  struct Kept: Encodable, Equatable {
    let what: String
    let why: String
  }

  init(_ erasure: Erasure) {
    erased = Counts(
      attemptResponses: erasure.answers, auditEntries: erasure.auditEntries, consents: erasure.consents,
      events: erasure.events, grants: erasure.grants, notes: erasure.notes, ownerships: erasure.ownerships,
      purchases: erasure.purchases, refundRequests: erasure.refundRequests, sandboxAccess: erasure.sandboxAccess,
      synchronizations: erasure.synchronizations + erasure.openSynchronizations)
    var kept: [Kept] = []
    if erasure.purchases + erasure.ownerships > 0 {
      kept.append(
        Kept(
          what: "purchases, their transactions and Apple's signed evidence, without an owner",
          why: "They prove payments, a later refund must find them, and no consumable may be granted twice."))
      kept.append(
        Kept(
          what: "Apple's notifications about these purchases, as Apple signed them",
          why: "A repeat must be recognized. They go after worker.notificationRetentionSeconds."))
    }
    if erasure.synchronizations > 0 {
      kept.append(
        Kept(
          what: "results of synchronizations, without the customer",
          why: "A repeated Correlation-Id gets the same result. They go after worker.statusRetentionSeconds."))
    }
    if erasure.openSynchronizations > 0 {
      kept.append(
        Kept(
          what: "\(erasure.openSynchronizations) synchronizations under way, without the IP address",
          why: "They were accepted. They end as CUSTOMER_ERASED, and then their jobs are deleted."))
    }
    if erasure.refundRequests > 0 {
      kept.append(
        Kept(
          what: "requests for refunds and their answers, without the customer",
          why: "They show what Apple was told. An answer that rests on the customer's consent is no longer sent."))
    }
    if erasure.undeliveredEvents > 0 {
      kept.append(
        Kept(
          what: "\(erasure.undeliveredEvents) events with the customer's id, until they are delivered or given up",
          why: "The publisher's services have not received them yet."))
    }
    kept.append(
      Kept(
        what: "the SHA-256 of the publisher's and the customer's id, and the time of the erasure",
        why: "A registration from before the erasure must not bring the customer back."))
    kept.append(
      Kept(
        what: "an entry of the audit log with a stand-in for the customer",
        why: "It shows that the erasure took place, and when."))
    kept.append(
      Kept(
        what: "backups of the ledger, and what other services have received",
        why: "They are outside of Countersign; whoever operates them deletes them."))
    self.kept = kept
  }
}
