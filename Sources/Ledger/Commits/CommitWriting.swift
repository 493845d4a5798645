import Crypto
import Domain
import Postgres

/// The second trip of a commit: writes what the decision has changed. All keys are sorted, so that two workers never
/// wait for each other in a circle.
struct CommitWriting {
  private let state: CommitState
  /// The synchronizations that have a row already, because they waited for more than 30 s.
  private let waiting: Set<SynchronizationKey>
  private let audience: EventAudience
  private let postponed: [SynchronizationRow.Waiting]
  private let confirmed: [EventId]
  private let person: String?

  /// - Parameters:
  ///   - waiting: the synchronizations that have a row already.
  ///   - postponed: the synchronizations that wait from now on.
  ///   - knownChains: the chains that the ledger has.
  ///   - audience: whom events are told.
  ///   - confirmed: the events that leave the outbox.
  ///   - person: who changes owners at the console, if that is how.
  init(
    _ state: CommitState, waiting: Set<SynchronizationKey> = [], postponed: [SynchronizationRow.Waiting] = [],
    knownChains: Set<[UInt8]> = [], audience: EventAudience, confirmed: [EventId] = [],
    person: String? = nil
  ) {
    self.state = state
    self.waiting = waiting
    self.postponed = postponed
    evidence = EvidenceRow.rows(state.changes.evidence, receivedAt: state.now, knownChains: knownChains)
    chains = Set(evidence.chains.map(\.sha256))
    self.audience = audience
    self.confirmed = confirmed
    self.person = person
  }

  /// The chains that it writes.
  let chains: Set<[UInt8]>
  private let evidence: (pieces: [EvidenceRow.Piece], chains: [EvidenceRow.Chain])

  /// The statements that have something to write.
  var queries: [PostgresQuery] {
    var queries: [PostgresQuery] = []
    let changes = state.changes
    func add(_ statement: PostgresStatement, _ count: Int, _ parameters: () -> [PostgresParameter]) {
      if count > 0 { queries.append(PostgresQuery(statement, parameters())) }
    }
    let (new, changed) = (purchases(changes.newPurchases), purchases(changes.changedPurchases))
    add(PurchaseRow.insert, new.count) { PurchaseRow.table.parameters(new) }
    add(PurchaseRow.update, changed.count) { PurchaseRow.table.parameters(changed) }
    let looked = purchases(changes.lookedAt.subtracting(changes.newPurchases))
    add(PurchaseRow.look, looked.count) { PurchaseRow.timers.parameters(looked) }
    let transactions = transactions
    add(TransactionRow.upsert, transactions.count) { TransactionRow.table.parameters(transactions) }
    add(EvidenceRow.insertChains, evidence.chains.count) { EvidenceRow.chains.parameters(evidence.chains) }
    add(EvidenceRow.insert, evidence.pieces.count) { EvidenceRow.table.parameters(evidence.pieces) }
    // A purchase that is new to the ledger has no earlier pieces.
    let more = evidence.pieces.filter { !changes.newPurchases.contains($0.key) }
    add(EvidenceRow.giveWay, more.count) { EvidenceRow.contents(more) }
    let customers = changes.customers.sorted().compactMap { key in
      state.customers[key].map { CustomerRow.Committed(key: key, record: $0) }
    }
    let (known, unknown) = (customers.filter(\.record.isKnown), customers.filter { !$0.record.isKnown })
    add(CustomerRow.insert, unknown.count) { CustomerRow.table.parameters(unknown.map(CustomerRow.init)) }
    add(CustomerRow.refuseErased, unknown.count) { CustomerRow.erasures(unknown) }
    add(CustomerRow.update, known.count) { CustomerRow.changes.parameters(known.map(CustomerRow.init)) }
    // An ownership may begin and end in one commit.
    add(OwnershipRow.begin, changes.begunOwnerships.count) {
      OwnershipRow.table.parameters(OwnershipRow.rows(changes.begunOwnerships, at: state.now))
    }
    if !changes.begunOwnerships.isEmpty {
      let begun = changes.begunOwnerships.sorted { $0.subscriptionId < $1.subscriptionId }
      queries.append(AuditEntry.insert(begun.map { AuditEntry($0, by: person) }))
    }
    add(OwnershipRow.end, changes.endedOwnerships.count) {
      [.int64s(changes.endedOwnerships.sorted()), .time(state.now)]
    }
    let finalized = SynchronizationRow.split(changes.synchronizations, waiting)
    add(SynchronizationRow.insert, finalized.new.count) {
      SynchronizationRow.finalized.parameters(finalized.new.map(\.row))
    }
    add(SynchronizationRow.update, finalized.waiting.count) { SynchronizationRow.updates(finalized.waiting) }
    let postponed = SynchronizationRow.Waiting.sorted(
      postponed.map { state.isErased($0.job) ? $0.withoutPerson : $0 })
    add(SynchronizationRow.wait, postponed.count) { SynchronizationRow.waiting.parameters(postponed.map(\.row)) }
    let named = ((finalized.new + finalized.waiting).compactMap(\.namedKey) + postponed.compactMap(\.namedKey))
      .filter(waiting.contains).sorted()
    add(SynchronizationRow.forget, named.count) {
      SynchronizationRow.keys.parameters(named.map(SynchronizationRow.init))
    }
    if !changes.events.isEmpty { queries += Event.tell(changes.events, audience: audience) }
    // A request that ends makes room for the next one about its transaction.
    let refunds = changes.refundRequests.sorted { $0.key < $1.key }
    let seen = refunds.filter { changes.seenRefundRequests.contains($0.key) }.map(\.value)
    add(RefundRequestRow.see, seen.count) { RefundRequestRow.sightings.parameters(seen) }
    let others = changes.newRefundRequests.union(changes.seenRefundRequests)
    let ended = refunds.filter { !others.contains($0.key) }.map(\.value)
    add(RefundRequestRow.update, ended.count) { RefundRequestRow.changes.parameters(ended) }
    let begun = refunds.filter { changes.newRefundRequests.contains($0.key) }.map(\.value)
    add(RefundRequestRow.insert, begun.count) { RefundRequestRow.table.parameters(begun) }
    add(NotificationRow.apply, changes.notifications.count) {
      NotificationRow.applied(changes.notifications, state.now)
    }
    if !confirmed.isEmpty { queries.append(Event.confirmed(confirmed)) }
    return queries
  }

  private func purchases(_ keys: Set<PurchaseKey>) -> [PurchaseRow] {
    keys.sorted().compactMap { key in
      state.purchases[key].map {
        PurchaseRow($0, offerId: state.changes.offers[key], dueAt: state.changes.dueTimes[key])
      }
    }
  }

  /// In the order of the primary key.
  private var transactions: [TransactionRow] {
    state.changes.transactions.flatMap { key, ids in
      ids.compactMap { id in
        state.purchases[key]?.transactions[id].map {
          TransactionRow(publisherId: key.publisherId, facts: $0, firstGrantedAt: state.firstGrants[key]?[id])
        }
      }
    }.sorted { one, other in
      (one.publisherId, one.facts.transactionId, one.facts.environment)
        < (other.publisherId, other.facts.transactionId, other.facts.environment)
    }
  }
}
