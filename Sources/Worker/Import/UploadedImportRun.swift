import AMQP
import AppStore
import Configuration
import Coordination
import Domain
import EventLoop
import Formats
import Import
import JSON
import Ledger
import Messaging
import Observability
import Postgres
import Service

/// One worker's run of an import over HTTP: it reads the file from the ledger, registers the rows, and writes the
/// report there. If it ends early, the next run goes on: the ledger knows which rows have a result.
@LoopActor
final class UploadedImportRun: TakenImport {
  /// What became of a run; a label of a metric.
  enum Ending: String, CaseIterable {
    case checked, finished, cancelled, failed
    /// Others wait for the place, or the worker stops. A next run goes on.
    case yielded
    /// Another import of the publisher runs.
    case busy
    /// Another run has the import, or the publisher has ended it.
    case lost
    /// A server has failed. A next run goes on.
    case unfinished
  }

  /// What a run works with besides its import.
  @LoopActor
  struct Dependencies {
    let context: RoleContext
    let claims: TransactionClaims
    let queue: AMQPPublisher
    let topology: Topology
    /// Makes the verifier of a publisher's signed texts.
    let verifier: @LoopActor (Publisher) throws -> any ImportVerifier
    let rows: SuspectRows
    /// Publishes the events of what an export brings.
    let publish: @LoopActor (consuming Told) -> Void
  }

  /// The role stops while the file is read.
  private struct Closing: Error {}

  private static let (readAtOnce, signedBytes) = (Int32(1 << 20), Int32(128 << 10))
  /// How long nobody takes an import whose publisher has another one under way, or behind a failed server.
  private static let (busyPause, failurePause) = (Duration.seconds(30), Duration.seconds(10))

  private let one: UploadedImport
  private let name: String
  private let publisher: Publisher
  private let dependencies: Dependencies
  /// It has a connection of its own, so that a file does not hold up the worker's commits.
  private let postgres: PostgresClient
  private let work: ImportWork
  private let parts: ImportParts
  private let hold: ImportHold
  private var log: Log { dependencies.context.log }

  /// - Parameter name: the name of the run, which has taken the import.
  /// - Throws: `PostgresEndpoint.InvalidURL`.
  init(_ one: UploadedImport, as name: String, _ publisher: Publisher, _ dependencies: Dependencies) throws {
    (self.one, self.name, self.publisher, self.dependencies) = (one, name, publisher, dependencies)
    let endpoint = try PostgresEndpoint(
      dependencies.context.settings.ledger, name: "countersign worker import")
    postgres = PostgresClient(endpoint, connections: 1) { _ in }
    (work, parts) = (ImportWork(postgres), ImportParts(postgres))
    let publishers = dependencies.context.publishers
    hold = ImportHold(one.progress) { [work] in
      try await work.keep(one, as: name, $0, of: publishers.all.map(\.id))
    }
  }

  /// Lets the run end soon: the role stops.
  func close() { hold.isClosing = true }

  /// Runs to an end.
  func run() async -> Ending {
    postgres.start()
    hold.start()
    var ending = Ending.unfinished
    do {
      ending = try await endingOfWork()
    } catch is ImportWork.Lost {
      ending = .lost
    } catch is ImportRun.Stopped where hold.isLost {
      ending = .lost
    } catch is Closing {
      ending = .yielded
    } catch {
      ending = await given(error)
    }
    await hold.stop()
    let pause: Duration? =
      switch ending {
      case .yielded: .zero
      case .busy: Self.busyPause
      case .unfinished: Self.failurePause
      case .checked, .finished, .cancelled, .failed, .lost: nil
      }
    // If this fails, the lease ends by itself.
    if let pause { try? await work.release(one, as: name, after: pause) }
    await postgres.stop()
    return ending
  }

  /// What an error means: some never pass by themselves.
  private func given(_ error: any Error) async -> Ending {
    let cause = Self.lastingCause(of: error)
    if !(error is LineSplitter.TooLong || error is ImportRun.Stopped) {
      log.ledgerFailure("an import could not go on", error)
    }
    guard let cause else { return .unfinished }
    do {
      try await note(.failed(cause)) { _ in }
      return .failed
    } catch {
      return .unfinished
    }
  }

  /// Why a next run would fail the same way, in words for the publisher; `nil` if it may go on. A server's words may
  /// name hosts and other publishers' rows, so they stay in the log.
  nonisolated static func lastingCause(of error: any Error) -> String? {
    switch error {
    case let error as LineSplitter.TooLong: error.description
    case let error as ImportRun.Stopped: error.description
    case let error as PostgresError where error.advice == .ourMistake:
      "the ledger refused the work (\(error.code)). The worker's log has the cause; start the import again when an "
        + "operator has corrected it"
    case is UnreadableRecord:
      "the ledger has a row that the worker cannot read. The worker's log names it; start the import again when an "
        + "operator has corrected it"
    default: nil
    }
  }

  /// Why an import fails whose preset another version has accepted.
  nonisolated static func unknownCause(_ preset: ImportPresetName) -> String {
    "this version of the worker does not know the preset \(preset.rawValue); start the import again when all workers "
      + "have a version that does"
  }

  private func note(
    _ ending: UploadedImport.Ending?, _ change: (inout UploadedImport) -> Void
  ) async throws {
    _ = try await work.note(one, as: name, ending, now: dependencies.context.now(), change)
  }

  // MARK: Steps

  private func endingOfWork() async throws -> Ending {
    // The first attempt to connect runs still.
    try await connected()
    guard !publisher.apps.isEmpty else {
      try await note(.failed("the publisher has no app, so Apple cannot be asked")) { _ in }
      return .failed
    }
    guard let preset = ImportPresets(dependencies.context.doors).export(named: one.wish.preset) else {
      try await note(.failed(Self.unknownCause(one.wish.preset))) { _ in }
      return .failed
    }
    if one.state != .checking {
      // It comes before the file: a run that must wait reads nothing.
      let lock = ImportLock(postgres, publisher: publisher.id)
      guard try await lock.take() else { return .busy }
      hold.lock = lock
    }
    guard let file = try await file(preset) else { return .unfinished }
    let settings = dependencies.context.settings.appStore
    let plan = ImportPlan(
      file,
      callsPerSecond: AppStoreEndpoint.transactionInfo.callsPerSecond(in: .production) * settings.budgetScale,
      share: Double(one.wish.sharePerMille) / 1000)
    hold.progress.rows = Int64(file.rows.count)
    let registers = one.mayRegister(problems: file.problemCount) || one.state == .cancelling
    try await note(registers ? nil : .checked) { row in
      row.plan = JSONWriter.object { file.write(plan, to: &$0) }
      (row.problems, row.problemCount) = (Self.written(file.problems), Int64(file.problemCount))
      row.progress.rows = Int64(file.rows.count)
    }
    guard registers else { return .checked }
    return try await registered(file, plan)
  }

  private func connected() async throws {
    for _ in 0..<100 where !postgres.isReady { try await EventLoop.sleep(for: .milliseconds(50)) }
  }

  /// Reads the file; `nil` if it may not be read now, because workers died while they read it.
  private func file(_ preset: ExportColumns) async throws -> ImportFile? {
    let verifier = try dependencies.verifier(publisher)
    let limits = ImportFile.Limits(
      rows: UploadedImport.mostRows, problems: UploadedImport.mostProblems, bytes: UploadedImport.mostRowBytes)
    return try await guarded {
      try await ImportFeed.read(preset, verifier, limits, publisher.offers) { [self] in
        try await bytes(at: $0)
      }
    }
  }

  /// Does a part of the run that depends on the file's contents; `nil` if it may not be done now, because workers died
  /// while they did one. The registration is no such part: it may last for days, and others' crashes would count.
  private func guarded<Value>(_ work: @LoopActor () async throws -> Value) async throws -> Value? {
    var done: Result<Value, any Error>?
    await dependencies.rows.run(.imported, "\(publisher.id):\(one.id.text)") {
      do { done = .success(try await work()) } catch { done = .failure(error) }
    }
    return try done?.get()
  }

  private func bytes(at place: Int64) async throws -> [UInt8]? {
    _ = try hold.standing()
    if hold.isClosing { throw Closing() }
    return try await parts.bytes(.file, of: one.id, publisher.id, at: place, most: Self.readAtOnce)
  }

  private static func written(_ problems: [ImportProblem]) -> [UInt8] {
    JSONWriter.array(
      problems.map { problem in
        JSONWriter.object { json in
          json.member("line", Int64(problem.line))
          json.member("cause", JSONWriter.beginning(of: problem.cause, upTo: 500))
          json.member("remedy", JSONWriter.beginning(of: problem.remedy, upTo: 500))
        }
      })
  }

  private func registered(_ file: ImportFile, _ plan: ImportPlan) async throws -> Ending {
    var brought: ImportBringing.Summary?
    if one.wish.preset == .countersign, one.state == .running {
      guard let done = try await guarded({ try await self.brought(file) }) else { return .unfinished }
      brought = done
      // The next run brings the rest, also if no row is left.
      if !done.isWhole, try hold.standing() == .yields { return .yielded }
    }
    let wish = ImportRun.Wish(
      publisherId: publisher.id, round: Int(one.wish.round), tells: one.wish.tells, pace: plan.rowsPerSecond)
    let hold = hold
    let isCancelled = one.state == .cancelling || brought?.isWhole == false
    let run = ImportRun(
      file.rows, wish,
      ImportRun.Dependencies(
        publisher.id, dependencies.context.settings, dependencies.claims, dependencies.queue, dependencies.topology,
        SynchronizationReader(postgres),
        signedTransaction: { [self] in try await signedTransaction(of: $0, file) },
        standing: {
          let standing = try hold.standing()
          return isCancelled && standing == .ours ? .cancelled : standing
        },
        tell: { hold.note(done: $0) }, failed: { [log] in log.ledgerFailure("an import tries again", $0) }))
    try await run.takeEarlier()
    hold.note(done: run.earlier)
    if hold.progress.earlier == nil { hold.progress.earlier = Int64(run.earlier) }
    // What an earlier run of this import has done must never count as done before it.
    await hold.keepNow()
    let ending = ImportRun.Ending.of(rows: try await run.run(), isWhole: brought?.isWhole ?? true)
    if ending == .yielded { return .yielded }
    guard try await guarded({ try await report(file, brought, ending) }) != nil else { return .unfinished }
    return ending == .finished ? .finished : .cancelled
  }

  /// Brings what an export has besides purchases, in the name of the token that has started the import.
  private func brought(_ file: ImportFile) async throws -> ImportBringing.Summary {
    let lines = UploadedLines { [self] in try await bytes(at: $0) }
    // One line of the log for all: a file may have a million.
    var first: (line: Int, cause: String)?
    let bringing = ImportBringing(
      publisher, isTold: one.wish.tells, by: nil, postgres, nextLine: { try await lines.next() }, tell: { _ in },
      refused: { line, _, cause in first = first ?? (line, cause) }, publish: dependencies.publish,
      standing: { [hold] in try hold.standing() })
    let brought = try await AuditEntry.$requestToken.withValue(one.token) { try await bringing.bring(file.exported) }
    if let first {
      log.info(
        "an import leaves something out",
        [
          "importId": .string(one.id.text), "count": .int(Int64(brought.refused)),
          "line": .int(Int64(first.line)), "cause": .string(first.cause),
        ])
    }
    return brought
  }

  /// Reads the signed transaction of a row again. If it is longer than any of Apple's, Apple is asked.
  private func signedTransaction(of row: ImportRow, _ file: ImportFile) async throws -> String? {
    guard let place = row.signedAt else { return nil }
    let lines = UploadedLines(from: place) { [self] in
      try await parts.bytes(.file, of: one.id, publisher.id, at: $0, most: Self.signedBytes)
    }
    var rest = try await lines.lines(within: Int(Self.signedBytes))[...]
    return file.signedTransaction { rest.popFirst() }
  }

  /// Writes the report, and ends the import.
  private func report(
    _ file: ImportFile, _ brought: ImportBringing.Summary?, _ ending: ImportRun.Ending
  ) async throws {
    try await work.beginReport(of: one, as: name)
    var place: Int64 = 0
    var summary = try await ImportReportWriting(publisher, round: Int(one.wish.round), postgres)
      .write(file.rows, file.leftOut) { [self] lines in
        try await work.addReport(of: one, as: name, at: place, lines)
        place += Int64(lines.count)
      }
    summary.earlier = Int(hold.progress.earlier ?? 0)
    let done = Int64(summary.rows)
    let written = JSONWriter.object { json in
      summary.write(to: &json)
      brought?.write(to: &json)
      file.writeCounts(to: &json)
    }
    let (rows, earlier) = (Int64(file.rows.count), hold.progress.earlier)
    try await note(ending == .finished ? .finished : .cancelled) { row in
      row.summary = written
      row.progress.rows = rows
      row.progress.done = ending == .finished ? rows : done
      row.progress.earlier = row.progress.earlier ?? earlier
      row.progress.rowsPerMinute = 0
    }
  }
}
