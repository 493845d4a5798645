import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Access while Apple is away, against Apple's denial of the same transaction at the same time.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct ProvisionalAccessTests {
  private let job = CommitLab.job("s1", "me", "1")
  private let until = CommitLab.now + 3_600_000

  private func grant(_ lab: CommitLab, _ client: PostgresClient) async throws -> [Event]? {
    let piece = try CommitLab.evidence(
      "1", of: "1", "monthly", .autoRenewable, bought: -1, expires: 30, signed: -0.01)
    return try await ProvisionalAccess(client).grant(
      job, piece, until: until, publisher: CommitLab.publisher, now: CommitLab.now
    ).taken()
  }

  private func deny(_ lab: CommitLab) async throws -> Finalized {
    try await lab.workers[0].finalize(
      FinalizationRequest(job, .noEvidence(.transactionIdNotFound), publisher: CommitLab.publisher))
  }

  private func provisionalUntil(_ lab: CommitLab) async throws -> Int64? {
    try await PurchaseReader(lab.clients[0]).purchases([CommitLab.key("1")])[CommitLab.key("1")]?.provisionalUntil
  }

  @Test func `a job that has not ended gets access, and Apple's denial withdraws it`() async throws {
    try await CommitLab.with { (lab) async throws in
      #expect(try await grant(lab, lab.clients[0])?.map(\.topic) == [EventTopic.entitlementsChanged])
      #expect(try await provisionalUntil(lab) == until)
      #expect(try await deny(lab).code == .transactionIdNotFound)
      #expect(try await provisionalUntil(lab) == CommitLab.now)
    }
  }

  @Test func `a denial before the grant leaves nothing to give`() async throws {
    try await CommitLab.with { (lab) async throws in
      #expect(try await deny(lab).code == .transactionIdNotFound)
      #expect(try await grant(lab, lab.clients[0]) == nil)
      #expect(try await lab.number("SELECT count(*) FROM purchases") == 0)
    }
  }

  @Test func `a finalized job needs no grant`() async throws {
    try await CommitLab.with { (lab) async throws in
      let done = try await lab.workers[0].finalize(CommitLab.request("s1", "me", "1", of: "1"))
      #expect(done.code == .purchaseSynchronized)
      #expect(try await grant(lab, lab.clients[0]) == nil)
      #expect(try await provisionalUntil(lab) == nil)
      #expect(try await lab.number("SELECT max(version) FROM purchases") == 1)
    }
  }

  /// The denial reads "no such purchase". Before it commits, the grant begins. No row exists that both could lock.
  @Test func `a grant waits for a denial that has read nothing`() async throws {
    try await meeting { lab, second, locks in
      let denial = Task { @LoopActor in try await deny(lab) }
      try await locks.wait("relation")
      let given = Task { @LoopActor in try await grant(lab, second) }
      try await locks.wait("advisory")
      return { () async throws in
        #expect(try await denial.value.code == .transactionIdNotFound)
        #expect(try await given.value == nil)
        #expect(try await lab.number("SELECT count(*) FROM purchases") == 0)
      }
    }
  }

  @Test func `a denial waits for a grant that has not committed, and withdraws it`() async throws {
    try await meeting { lab, second, locks in
      let given = Task { @LoopActor in try await grant(lab, second) }
      try await locks.wait("relation")
      let denial = Task { @LoopActor in try await deny(lab) }
      try await locks.wait("advisory")
      return { () async throws in
        #expect(try await given.value?.count == 1)
        let denied = try await denial.value
        #expect(denied.code == .transactionIdNotFound)
        #expect(denied.events.contains { $0.topic == EventTopic.entitlementsChanged })
        #expect(try await provisionalUntil(lab) == CommitLab.now)
      }
    }
  }

  /// What must hold after a meeting.
  private typealias End = @LoopActor () async throws -> Void

  /// Begins commits while nobody can write events, so that each stops after its reading. Then it lets them go on.
  private func meeting(
    _ begin: @LoopActor (CommitLab, PostgresClient, Locks) async throws -> End
  ) async throws {
    try await CommitLab.with { (lab) async throws in
      try await LedgerDatabase.client(lab.endpoint) { second in
        try await LedgerDatabase.client(lab.endpoint) { blocker in
          let end = try await blocker.transaction { transaction in
            _ = try await transaction.query(PostgresQuery(.lockEvents, []))
            return try await begin(lab, second, Locks(transaction: transaction))
          }
          try await end()
        }
      }
    }
  }

  /// The locks that commits wait for.
  @LoopActor
  private struct Locks {
    /// The transaction that holds up the others. It must not be idle for long.
    let transaction: PostgresTransaction

    /// Waits until a commit waits for a lock of this type.
    func wait(_ type: String) async throws {
      try await eventually("a commit waits for the lock: \(type)") {
        try await transaction.query(PostgresQuery(.awaitedLocks, [.text(type)]))[0].int64(0) == 1
      }
    }
  }
}

extension PostgresStatement {
  fileprivate static let lockEvents = PostgresStatement("lock events", "LOCK TABLE events IN EXCLUSIVE MODE")
  fileprivate static let awaitedLocks = PostgresStatement(
    "awaited locks",
    """
    SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE NOT l.granted AND l.locktype = $1 AND d.datname = current_database()
    """)
}
