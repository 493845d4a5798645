public import Domain
public import EventLoop
import Formats
import JSON
public import Postgres

/// Writes all of a publisher as JSON lines, as it is at one moment (docs/reference/export.md).
///
/// It reads by keys, page by page, in one transaction that sees one moment. So it goes on where a file ends: a new
/// moment begins, and first it writes again what has changed since the file's moment.
@LoopActor
public struct PublisherExport {
  private let postgres: PostgresClient
  private let publisher: Publisher
  private let pages: Pages

  /// How many things of a kind the ledger sends at once. A purchase comes with its evidence, some 2 KB a piece.
  public struct Pages: Sendable {
    public var things: Int64 = 500
    public var purchases: Int64 = 100

    /// Creates the usual sizes.
    public init() {}
  }

  /// What a caller does for an export.
  public struct Caller {
    /// Takes the bytes of whole lines.
    let write: @LoopActor ([UInt8]) async throws -> Void
    /// Waits before the next page, so that the ledger has time for others. It gets how long the page took.
    let rest: @LoopActor (Duration) async throws -> Void

    /// Creates a caller.
    public init(
      write: @escaping @LoopActor ([UInt8]) async throws -> Void,
      rest: @escaping @LoopActor (Duration) async throws -> Void = { _ in }
    ) {
      (self.write, self.rest) = (write, rest)
    }
  }

  /// Creates an export over a client whose connection nobody else needs meanwhile.
  ///
  /// - Parameter publisher: its offers decide about the entitlements that the lines tell.
  public init(_ postgres: PostgresClient, _ publisher: Publisher, pages: Pages = Pages()) {
    (self.postgres, self.publisher, self.pages) = (postgres, publisher, pages)
  }

  /// Notes in the audit log of a publisher that one of its tokens gets all of it.
  ///
  /// - Parameters:
  ///   - token: the token's name.
  ///   - resumes: whether an export goes on.
  public static func note(
    _ publisher: PublisherId, by token: String?, resumes: Bool, in postgres: PostgresClient
  ) async throws {
    let entry = AuditEntry(
      publisherId: publisher, actor: .publisher, token: token, action: "publisher.exported", subject: "\(publisher)",
      detail: JSONWriter.object { $0.member("resumed", resumes) })
    _ = try await postgres.run(AuditEntry.insert([entry]))
  }

  /// Writes the lines, or the missing ones.
  ///
  /// - Parameter soFar: what is written already.
  /// - Returns: how many lines of each kind there are, with those before.
  /// - Throws: ``ExportRefused``; `PostgresError`; ``UnreadableRecord``; the errors of the caller.
  public func run(after soFar: ExportedSoFar? = nil, _ caller: Caller) async throws -> [ExportKind: Int64] {
    try await postgres.transaction { transaction in
      _ = try await transaction.query(PostgresQuery(.oneMoment))
      let row = try await transaction.query(PostgresQuery(.exportMoment)).first
      guard let row else { throw ExportRefused("the ledger names no moment") }
      let moment = ExportMoment(
        snapshot: try row.int64("snapshot") ?? 0, history: try row.text("history") ?? "",
        at: rfc3339(milliseconds: try row.time("at") ?? 0))
      var run = Run(
        transaction: transaction, publisher: publisher, pages: pages, caller: caller, now: try row.time("at") ?? 0,
        counts: soFar?.counts ?? [:])
      if let soFar, let old = soFar.moment {
        try await run.catchUp(from: old, to: moment, behind: soFar.position)
      } else {
        try await caller.write(ExportLine.begun(publisher.id, moment) + [0x0a])
      }
      for kind in ExportKind.allCases where kind >= soFar?.position?.kind ?? .customer {
        let key = soFar?.position.flatMap { $0.kind == kind ? $0.key : nil }
        try await run.write(kind, ExportRange(after: key))
      }
      try await caller.write(ExportLine.end(run.counts) + [0x0a])
      return run.counts
    }
  }

  /// One run, in its transaction.
  @LoopActor
  private struct Run {
    let transaction: PostgresTransaction
    let publisher: Publisher
    let pages: Pages
    let caller: Caller
    let now: Int64
    var counts: [ExportKind: Int64]

    /// Writes what has changed of the things that are written already.
    mutating func catchUp(
      from old: ExportMoment, to moment: ExportMoment, behind position: ExportPosition?
    ) async throws {
      guard moment.history == old.history else {
        throw ExportRefused(
          "the ledger was restored or failed over since \(old.at): begin with a new file", .otherHistory)
      }
      let erased = PostgresQuery(.erasedSince, [.id(publisher.id), .int64(old.snapshot)])
      // A line about an erased person must not stay in the file.
      guard try await transaction.query(erased).first?.bool("is_there") != true else {
        throw ExportRefused(
          "a customer was erased since \(old.at): delete the file and begin with a new one", .erased)
      }
      try await caller.write(ExportLine.resumed(moment, behind: position) + [0x0a])
      if let position {
        for kind in ExportKind.allCases where kind <= position.kind {
          let last = kind == position.kind ? position.key : nil
          try await write(kind, ExportRange(through: last, changedSince: old.snapshot))
        }
      }
      try await caller.write(ExportLine.caughtUp + [0x0a])
    }

    /// Writes the things of a kind, page by page.
    mutating func write(_ kind: ExportKind, _ range: ExportRange) async throws {
      let limit = kind == .purchase ? pages.purchases : pages.things
      var range = range
      while true {
        let began = ContinuousClock.now
        let rows = try await transaction.query(
          PostgresQuery(
            kind.statement(range), try kind.parameters(publisher.id, range, limit)))
        let page = try await lines(kind, rows)
        if let last = page.last { range.after = last.position.key }
        counts[kind, default: 0] += Int64(page.count)
        try await caller.write(page.flatMap { $0.line + [0x0a] })
        guard page.count == limit else { return }
        try await caller.rest(.now - began)
      }
    }

    private func lines(_ kind: ExportKind, _ rows: PostgresRows) async throws -> [ExportPage.Line] {
      switch kind {
      case .customer:
        let ids: [CustomerId] = try rows.map { try $0.id("key1") ?? "" }
        let keys = ids.map { CustomerKey(publisherId: publisher.id, id: $0) }
        let holdings = try await Holdings.read(keys) { try await transaction.query($0) }
        return try ExportPage.customers(rows, holdings, publisher, now: now)
      case .purchase:
        let parameters: [PostgresParameter] = [
          .ids(rows.map { _ in publisher.id }), .texts(try rows.map { try $0.text("key1") ?? "" }),
          .texts(try rows.map { try $0.text("key2") ?? "" }),
        ]
        let parts = try await transaction.query(
          [.exportTransactions, .exportOwners, .exportEvidence].map { PostgresQuery($0, parameters) })
        return try ExportPage.purchases(rows, transactions: parts[0], owners: parts[1], evidence: parts[2])
      case .grant, .sandboxAccess, .event, .audit: return try ExportPage.things(kind, rows)
      }
    }
  }
}

/// Why an export cannot be written or go on, and what to do.
public struct ExportRefused: Error, Sendable, CustomStringConvertible {
  /// What a caller who is no person tells apart.
  public enum Cause: Sendable {
    /// A customer was erased since.
    case erased
    /// The ledger was restored or failed over since.
    case otherHistory
    case other
  }

  public let cause: Cause
  /// The cause, as a sentence for an operator.
  public let description: String

  init(_ description: String, _ cause: Cause = .other) { (self.description, self.cause) = (description, cause) }
}
