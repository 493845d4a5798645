public import Domain
public import EventLoop
public import Postgres

/// The notifications of the ledger. All that comes within a turn of the loop is kept in one statement.
@LoopActor
public final class NotificationStore {
  let postgres: PostgresClient
  private var waiting: [(rows: [KeptNotification], waiter: CheckedContinuation<Kept, any Error>)] = []
  private var running = 0
  private lazy var keepLater = EndOfTurn { [weak self] in self?.keepWaiting() }

  /// After this time a sweep takes a notification that nobody has applied.
  public nonisolated static let patience = Duration.seconds(5)
  /// The most notifications of one statement.
  private static let mostAtOnce = 200
  /// The statements that run at the same time.
  private static let mostRunning = 2

  /// The notifications that were new.
  public typealias Kept = Set<NotificationKey>

  /// Creates the store of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Keeps notifications; returns after the commit. One that the ledger has stays as it is.
  ///
  /// - Returns: the new ones.
  /// - Throws: `PostgresError`, and then nobody knows whether they are kept.
  public func keep(_ rows: [KeptNotification]) async throws -> Kept {
    guard !rows.isEmpty else { return [] }
    return try await withCheckedThrowingContinuation { waiter in
      waiting.append((rows, waiter))
      keepLater.plan()
    }
  }

  private func keepWaiting() {
    while running < Self.mostRunning, !waiting.isEmpty {
      let batch = Array(waiting.prefix(Self.mostAtOnce))
      waiting.removeFirst(batch.count)
      running += 1
      Task.immediate { @LoopActor in
        await keep(batch)
        running -= 1
        keepWaiting()
      }
    }
  }

  private func keep(_ batch: [(rows: [KeptNotification], waiter: CheckedContinuation<Kept, any Error>)]) async {
    do {
      let kept = try await insert(batch.flatMap(\.rows))
      for (rows, waiter) in batch {
        waiter.resume(
          returning: kept.intersection(rows.map(\.key)))
      }
    } catch {
      for (_, waiter) in batch { waiter.resume(throwing: error) }
    }
  }

  private func insert(_ rows: [KeptNotification]) async throws -> Kept {
    // Two gateways may get one notification: the order of the keys keeps them from waiting in a circle.
    let rows = rows.sorted { ($0.publisherId, $0.uuid) < ($1.publisherId, $1.uuid) }
    let patience = Int64(Self.patience / .milliseconds(1))
    let (columns, forwards) = (
      NotificationRow.table.parameters(rows) + [.int64(patience)], NotificationRow.forwards(rows)
    )
    let found = try await postgres.run(
      PostgresQuery(forwards.isEmpty ? NotificationRow.insert : NotificationRow.insertForwarded, columns + forwards))
    return Set(try found.map(NotificationKey.init))
  }

  /// Reads notifications that nobody has applied yet.
  ///
  /// - Throws: `PostgresError`.
  public func open(_ keys: [NotificationKey]) async throws -> [NotificationKey: KeptNotification.Open] {
    let rows = try await postgres.run(
      PostgresQuery(NotificationRow.read, [.ids(keys.map(\.publisherId)), .ids(keys.map(\.uuid))]))
    return try rows.reduce(into: [:]) { open, row in
      guard let body = try row.bytes("body") else { return }
      open[try NotificationKey(row)] = KeptNotification.Open(
        text: String(decoding: body, as: UTF8.self),
        source: try row.text("source").flatMap(KeptNotification.Source.init))
    }
  }

  /// What Apple posted.
  public struct Posted: Sendable {
    public let body: [UInt8]
    /// Apple's environment of the notification.
    public let environment: Environment?
  }

  /// Reads what Apple posted; `nil` for a notification that the ledger does not have any more.
  ///
  /// - Throws: `PostgresError`.
  public func posted(_ key: NotificationKey) async throws -> Posted? {
    let rows = try await postgres.run(
      PostgresQuery(NotificationRow.readPosted, [.id(key.publisherId), .id(key.uuid)]))
    guard let row = rows.first, let text = try row.bytes("body") else { return nil }
    return Posted(
      body: try row.bytes("posted") ?? KeptNotification.canonical(text), environment: try row.id("environment"))
  }

  /// Puts notifications off that nobody can apply yet, because no file names their publisher or its app. The wait
  /// doubles from one time to the next, up to an hour.
  ///
  /// - Throws: `PostgresError`.
  public func putOff(_ keys: [NotificationKey]) async throws {
    let keys = keys.sorted { ($0.publisherId, $0.uuid) < ($1.publisherId, $1.uuid) }
    _ = try await postgres.run(
      PostgresQuery(
        NotificationRow.putOff,
        [.ids(keys.map(\.publisherId)), .ids(keys.map(\.uuid)), .int64(Self.takenFor)]))
  }

  /// A sweep has what it took for so long, in milliseconds.
  private static let takenFor: Int64 = 30_000

  /// Takes notifications that nobody has applied in time, because their message was lost, waits behind many others, or
  /// their worker died. A publisher with many of them gets a part, so the others need not wait for it.
  ///
  /// - Throws: `PostgresError`.
  public func takeOverdue(of publisherIds: [PublisherId], limit: Int) async throws -> [NotificationKey] {
    guard !publisherIds.isEmpty else { return [] }
    let each = max(1, limit / min(publisherIds.count, 8))
    let rows = try await postgres.run(
      PostgresQuery(
        NotificationRow.takeOverdue,
        [.int64(Self.takenFor), .int64(Int64(limit)), .ids(publisherIds.shuffled()), .int64(Int64(each))]))
    return try rows.map(NotificationKey.init)
  }

  /// Puts notifications aside that seem to kill their workers.
  ///
  /// - Parameters:
  ///   - reasons: why each is put aside, for a person, by its UUID.
  ///   - publisherIds: the publishers whose copies are meant.
  /// - Returns: the ones that were open.
  /// - Throws: `PostgresError`.
  public func putAside(
    _ reasons: [NotificationUUID: String], of publisherIds: [PublisherId]
  ) async throws -> [NotificationKey] {
    let reasons = reasons.sorted { $0.key < $1.key }
    let rows = try await postgres.run(
      PostgresQuery(
        NotificationRow.putAside,
        [.ids(reasons.map(\.key)), .texts(reasons.map(\.value)), .ids(publisherIds)]))
    return try rows.map(NotificationKey.init)
  }

  /// How many notifications are put aside, of all publishers.
  ///
  /// - Throws: `PostgresError`.
  public func countPutAside() async throws -> Int64 {
    try await postgres.run(PostgresQuery(NotificationRow.countPutAside)).first?.int64("count") ?? 0
  }

  /// Notes that notifications are done that are about no purchase, or about one that we cannot follow.
  ///
  /// - Returns: how many nobody has finished before.
  /// - Throws: `PostgresError`.
  @discardableResult
  public func finish(_ keys: [NotificationKey], now: Int64) async throws -> Int {
    let rows = keys.map {
      CommitState.AppliedNotification(publisherId: $0.publisherId, uuid: $0.uuid, isNews: false)
    }
    return try await postgres.run(PostgresQuery(NotificationRow.apply, NotificationRow.applied(rows, now))).affected
  }
}
