public import Domain
public import EventLoop
import Formats
public import Postgres

/// Tells the entitlements that change because a publisher changed its offers or `sandboxAccess`, and brings the timers
/// forward that must be earlier by the new rules.
///
/// Answers follow the present rules at once. Events follow here: some worker walks through the publisher's customers
/// who own purchases or have open grants, in the order of their ids. Each batch is one commit, which also notes how far
/// it got. So another worker can go on after a crash, and tells nothing twice.
@LoopActor
public final class Reevaluation {
  private let postgres: PostgresClient
  private let now: @LoopActor () -> Int64
  private var watch = RulesWatch()

  /// Creates the re-evaluation of a worker.
  ///
  /// - Parameter now: tells milliseconds since 1970.
  public init(_ postgres: PostgresClient, now: @escaping @LoopActor () -> Int64) {
    self.postgres = postgres
    self.now = now
  }

  /// Looks at each publisher's rules, and evaluates the customers of those that changed. A worker calls it again and
  /// again, not more often than it reads the publishers' files.
  ///
  /// - Parameter publish: publishes the events of a commit.
  /// - Throws: `PostgresError`, or the error of `publish`; ``UnreadableRecord`` after all other publishers had their
  ///   turn. The next call goes on.
  public func run(_ publishers: Publishers, publish: @LoopActor (consuming Told) async throws -> Void) async throws {
    var window = LookWindow()
    var isLast = false
    var unreadable: UnreadableRecord?
    while !isLast {
      let next = window.next(of: publishers.all)
      isLast = next.isLast
      let found = try await run(next.part, publish: publish)
      unreadable = unreadable ?? found
    }
    if let unreadable { throw unreadable }
  }

  /// - Returns: the first row that cannot be read. Only its publisher stops there: the others go on.
  private func run(
    _ publishers: ArraySlice<Publisher>, publish: @LoopActor (consuming Told) async throws -> Void
  ) async throws -> UnreadableRecord? {
    let kept = try await keptRules(publishers)
    var unreadable: UnreadableRecord?
    for publisher in publishers {
      let (own, rules) = (publisher.rulesSHA256, kept[publisher.id])
      switch watch.look(publisher.id, own: own, kept: rules?.sha256, isOpen: rules?.isOpen ?? false) {
      case .nothing: continue
      case .begin:
        _ = try await postgres.run(
          PostgresQuery(.beginEvaluation, [.id(publisher.id), .bytes(own), .bytes(rules?.sha256)]))
      case .proceed: break
      }
      do {
        while let events = try await evaluateBatch(of: publisher, own) {
          if !events.isEmpty { try await publish(Told(events)) }
          try Task.checkCancellation()
        }
      } catch let error as UnreadableRecord {
        unreadable = unreadable ?? error
      }
    }
    return unreadable
  }

  private struct KeptRules {
    let sha256: [UInt8]
    let isOpen: Bool
  }

  private func keptRules(_ publishers: ArraySlice<Publisher>) async throws -> [PublisherId: KeptRules] {
    let rows = try await postgres.run(PostgresQuery(.readRules, [.ids(publishers.map(\.id))]))
    return try rows.reduce(into: [:]) { kept, row in
      guard let publisher = try row.id("publisher_id"), let hash = try row.bytes("rules_sha256") else { return }
      kept[publisher] = KeptRules(sha256: hash, isOpen: try row.bool("is_open") ?? false)
    }
  }

  /// Evaluates the next customers.
  ///
  /// - Returns: the events to publish; `nil` when the evaluation is finished, or when another worker has it.
  private func evaluateBatch(of publisher: Publisher, _ rules: [UInt8]) async throws -> [Event]? {
    let id = publisher.id
    return try await postgres.repeatingConflicts { [now] transaction -> [Event]? in
      let place = try await transaction.query(PostgresQuery(.lockRules, [.id(id), .bytes(rules)]))
      guard let through = try place.first?.text("evaluated_through") else { return nil }
      let customers: [CustomerId] = try await transaction.query(
        PostgresQuery(.nextOwners, [.id(id), .text(through)])
      )
      .compactMap { try $0.id("customer_id") }
      guard let last = customers.last else {
        _ = try await transaction.query(PostgresQuery(.noteProgress, [.id(id), .text(nil)]))
        return nil
      }
      let parameters: [PostgresParameter] = [.id(id), .ids(customers)]
      let rows = try await transaction.query([
        PostgresQuery(.lockOwnedByOwners, parameters), PostgresQuery(.lockOwners, parameters),
        PostgresQuery(.readOwnedByOwners, parameters), PostgresQuery(.readGrantsOfOwners, parameters),
        PostgresQuery(.readSandboxAccessOfOwners, parameters),
      ])
      let names = customers.map { CustomerKey(publisherId: id, id: $0) }
      var state = CommitState(
        purchases: [],
        customers: try Self.records(rows[1], owned: rows[2], grants: rows[3], sandboxAccess: rows[4], names),
        subscriptionIds: [], now: now())
      for customer in customers { state.reevaluate(CustomerKey(publisherId: id, id: customer), publisher: publisher) }
      let writing = CommitWriting(state, audience: publisher.audience)
      let timers = try Self.timers(rows[0], publisher.timer, now: state.now)
      _ = try await transaction.commit(
        writing.queries + [timers, PostgresQuery(.noteProgress, [.id(id), .id(last)])])
      return state.changes.events
    }
  }

  /// Reads the customers with their purchases. A customer to whom nothing was told yet has no row.
  private static func records(
    _ rows: PostgresRows, owned: PostgresRows, grants: PostgresRows, sandboxAccess: PostgresRows,
    _ customers: [CustomerKey]
  ) throws -> [CustomerKey: CustomerRecord] {
    var records = Dictionary(uniqueKeysWithValues: customers.map { ($0, CustomerRecord()) })
    for row in try CustomerRow.table.records(rows) { records[row.key] = row.record }
    for row in try PurchaseRow.table.records(owned) {
      let purchase = try row.purchase()
      guard let owner = purchase.owner else { continue }
      records[purchase.key.customer(owner.customerId)]?.others.append(purchase)
    }
    try GrantRow.note(grants, in: &records)
    try SandboxOverrideRow.note(sandboxAccess, in: &records)
    return records
  }

  private static func timers(_ rows: PostgresRows, _ timer: PurchaseTimer, now: Int64) throws -> PostgresQuery {
    let looks = try PurchaseRow.table.records(rows).compactMap { row in
      try timer.next(after: now, row.purchase()).map { time in
        var look = row
        look.dueAt = time
        return look
      }
    }
    return PostgresQuery(PurchaseRow.bringForward, PurchaseRow.dueTimes.parameters(looks))
  }
}
