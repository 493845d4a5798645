import AppStore
import Configuration
import Domain
import EventLoop
import Formats
import Import
import JSON
import Ledger
import Postgres
import Service
import Worker

/// `countersign import`: registers the purchases of a file in bulk, and reports the result of each.
///
/// The whole file is checked first. The import keeps no state of its own: the id of each row's synchronization follows
/// from the row, so the ledger knows what is done (decision 0053).
@LoopActor
struct ImportCommand {
  nonisolated static let command = Command(
    name: "import", summary: "registers the purchases of a file in bulk, and reports the result of each",
    synopsis: "--config FILE --publisher ID --from \(ImportPresets.ofBuild.names.joined(separator: "|")) FILE "
      + "[--dry-run] [--share 0.3] [--tell] [--skip-problems] [--round N] [--report FILE] [--json]",
    mostOperands: 1, options: ImportOptions.all, run: run)

  private let options: ImportOptions
  private let configuration: LoadedConfiguration
  private let publisher: Publisher
  private let file: ImportFile
  private let plan: ImportPlan

  static func run(_ arguments: [String]) async -> Int32 {
    let (options, configuration): (ImportOptions, LoadedConfiguration)
    let (evidence, publisher): (ImportEvidence, Publisher)
    do {
      let (found, rest) = try ImportOptions.read(arguments)
      (options, configuration) = (found, try LoadedConfiguration(rest, command: "import"))
      publisher = try configuration.publisher(options.source.publisher, for: "import")
      guard !publisher.apps.isEmpty else {
        throw UsageError(
          description:
            "countersign import: publisher \(options.source.publisher) has no app, so Apple cannot be asked; "
            + "add one to its file")
      }
      evidence = try ImportEvidence(publisher, rootFiles: configuration.settings.appStore.rootFiles)
    } catch {
      complain("\(error)")
      return 2
    }
    do {
      let file = try options.source.read(evidence, offers: publisher.offers)
      let rate =
        AppStoreEndpoint.transactionInfo.callsPerSecond(in: .production) * configuration.settings.appStore.budgetScale
      let plan = ImportPlan(file, callsPerSecond: rate, share: options.share)
      return await ImportCommand(
        options: options, configuration: configuration, publisher: publisher, file: file, plan: plan
      ).run()
    } catch {
      complain("countersign import: \(error)")
      return 2
    }
  }

  private func run() async -> Int32 {
    let isUsable = file.problems.isEmpty || options.skipsProblems
    for problem in file.problems { tell(problem) }
    if options.isDryRun {
      tellPlan()
      return file.problems.isEmpty ? 0 : 1
    }
    guard isUsable else {
      complain(
        "countersign import: nothing is imported, because \(file.problems.count) rows cannot work; mend the file, or "
          + "leave these rows out with --skip-problems")
      return 1
    }
    do {
      let report = try ExportOutput.whole(options.source.report)
      let summary = try await imported(to: report)
      try report.finish()
      tell(summary)
      return 0
    } catch {
      complain(error, by: "import")
      complain("to go on, run the same command again")
      return 1
    }
  }

  private func imported(to report: ExportOutput) async throws -> ImportSummary {
    let postgres = await PostgresClient.opened(
      try PostgresEndpoint(configuration.settings.ledger, name: "countersign import"))
    do {
      try await SchemaCheck(postgres).pass(within: .seconds(30))
      if options.source.preset.name == .countersign { tell(try await brought(postgres)) }
      let servers = await ImportServers(options.source.publisher, configuration.settings, postgres)
      do {
        let summary = try await imported(to: report, servers, postgres)
        await servers.stop()
        await postgres.stop()
        return summary
      } catch {
        await servers.stop()
        throw error
      }
    } catch {
      await postgres.stop()
      throw error
    }
  }

  private func imported(
    to report: ExportOutput, _ servers: ImportServers, _ postgres: PostgresClient
  ) async throws -> ImportSummary {
    try await servers.takeLock()
    let progress = ImportProgress(file.rows.count, isTold: !options.source.isJSON)
    let run = ImportRun(
      file.rows,
      ImportRun.Wish(
        publisherId: options.source.publisher, round: options.round, tells: options.tells, pace: plan.rowsPerSecond),
      servers.dependencies(
        signedTransaction: { [self] in signedTransaction(of: $0) }, tell: { progress.tell(done: $0) }))
    try await run.takeEarlier()
    progress.before = run.earlier
    _ = try await run.run()
    var summary = try await ImportReportWriting(publisher, round: options.round, postgres)
      .write(file.rows, file.leftOut) { try report.write($0) }
    summary.earlier = run.earlier
    return summary
  }

  /// The signed transaction of a row that says that it is enough. It is not kept in memory, so it is read again. If
  /// the file is a pipe, it is gone, and Apple is asked.
  private func signedTransaction(of row: ImportRow) -> String? {
    guard let offset = row.signedAt, let input = LineInput(file: options.source.file, at: offset) else { return nil }
    return file.signedTransaction { input.next() }
  }

  /// Brings what an export has besides purchases.
  private func brought(_ postgres: PostgresClient) async throws -> ImportBringing.Summary {
    let name = options.source.file
    let input = file.exported.customers > 0 ? LineInput(file: name, at: 0) : nil
    guard input != nil || file.exported.customers == 0 else {
      throw VendorFileOptions.Unreadable(
        description: "cannot read \(name) a second time; give a file, and no pipe")
    }
    let progress = ImportProgress(
      of: "customers", file.exported.customers, isTold: !options.source.isJSON)
    return try await ImportBringing(
      publisher, isTold: options.tells, by: SystemUser.name, postgres,
      nextLine: {
        if let line = input?.next() { return line }
        if let failure = input?.failure {
          throw VendorFileOptions.Unreadable(description: "cannot read \(name): \(failure)")
        }
        return nil
      }, tell: { progress.tell(done: $0) },
      refused: { line, what, cause in complain("line \(line): \(what) is left out: \(cause)") },
      // A command has no outlet: the sweep of a worker publishes.
      publish: { $0.leaveInOutbox() }
    ).bring(file.exported)
  }

  // MARK: The report

  /// Tells the end on standard error: standard output may have the report.
  private func tell(_ summary: ImportSummary) {
    if options.source.isJSON {
      return complain(
        jsonLine { json in
          summary.write(to: &json)
          file.writeCounts(to: &json)
        })
    }
    for (code, count) in summary.results.sorted(by: { $0.key < $1.key }) { complain("\(code): \(count) rows") }
    complain(
      "\(summary.rows) rows are imported: \(summary.withAccess) give access, \(summary.conflicts) belong to another "
        + "customer, \(summary.different) differ from the file")
    if file.leftOut.count > 0 { complain(leftOutCounts) }
    if summary.forgotten > 0 {
      complain(
        "\(summary.forgotten) more rows are imported, but the ledger has deleted their results because of their age "
          + "(worker.statusRetentionSeconds), so the report says that they are missing")
    }
    if summary.earlier > 0, options.tells {
      complain(
        "\(summary.earlier) of them had a result before this run, and it told nobody about them; to tell, add --round "
          + "\(options.round + 1)")
    } else if summary.earlier > 0 {
      complain("\(summary.earlier) of them had a result before this run")
    }
  }

  private var leftOutCounts: String {
    var counts = [
      "\(file.repeated) rows repeat others", "\(file.otherStores) are of other stores",
      "\(file.problemCount) are skipped, because they cannot work",
    ]
    if options.source.preset.name == .countersign { counts.append("\(file.exported.unowned) purchases have no owner") }
    return "not imported: " + counts.joined(separator: ", ")
  }

  private func tell(_ brought: ImportBringing.Summary) {
    if options.source.isJSON {
      return complain(jsonLine { brought.write(to: &$0) })
    }
    complain(
      "\(brought.customers) customers and \(brought.grants) grants are brought; \(brought.ended) grants have ended, "
        + "\(brought.refused) things are left out")
    if !file.exported.sandboxAccess.isEmpty {
      complain(
        "\(brought.sandboxAccess) customers get sandbox access by hand; "
          + "that of \(brought.endedSandboxAccess) has ended")
    }
    if let text = grantsOverLimit { complain(text) }
  }

  private var grantsOverLimit: String? {
    let count = file.exported.grantsOverLimit
    return count == 0
      ? nil
      : "\(count) grants are left out, because their customers have \(Grant.mostOpenOfCustomer) open grants before them"
  }

  // MARK: The plan

  /// Tells a problem. An import's standard output has the report, so its problems go to standard error.
  private func tell(_ problem: ImportProblem) {
    let line =
      options.source.isJSON
      ? jsonLine { json in
        json.member("line", Int64(problem.line))
        json.member("problem", problem.cause)
        json.member("remedy", problem.remedy)
      } : "\(problem)"
    if options.isDryRun { say(line) } else { complain(line) }
  }

  private func tellPlan() {
    if options.source.isJSON {
      return say(
        jsonLine { json in file.write(plan, to: &json) })
    }
    say(
      "\(plan.rows) purchases to verify; \(file.repeated) rows repeat others, \(file.otherStores) are of other stores")
    if options.source.preset.name == .countersign {
      say(
        "\(file.exported.customers) customers and \(file.exported.grants.count) grants to bring; "
          + "\(file.exported.unowned) purchases have no owner")
      if !file.exported.sandboxAccess.isEmpty {
        say("\(file.exported.sandboxAccess.count) customers with sandbox access by hand to bring")
      }
      if let text = grantsOverLimit { say(text) }
    }
    say("\(file.problems.count) rows cannot work")
    if plan.signed > 0 { say("\(plan.signed) purchases need no call, because their signatures are enough") }
    say(
      "\(plan.fewestCalls) to \(plan.mostCalls) calls to Apple, at \(options.share) of the budget about "
        + "\(ImportProgress.time(plan.seconds))")
  }
}
