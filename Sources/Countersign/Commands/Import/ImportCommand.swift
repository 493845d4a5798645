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

/// `countersign import`: registers the purchases of a file in bulk, and tells what became of each.
///
/// The whole file is checked first. The import keeps no state of its own: the id of each row's synchronization follows
/// from the row, so the ledger knows what is done (decision 0053).
@LoopActor
struct ImportCommand {
  nonisolated static let usage =
    "--config FILE --publisher ID --from \(ImportPreset.names()) FILE [--dry-run] [--share 0.3] [--tell] "
    + "[--skip-problems] [--round N] [--report FILE] [--json]"

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
      let file = try options.source.read(evidence)
      let rate =
        AppStoreEndpoint.transactionInfo.callsPerSecond(in: .production) * configuration.settings.appStore.budgetScale
      let plan = ImportPlan(rows: file.rows.count, callsPerSecond: rate, share: options.share)
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
      if options.source.preset == .countersign {
        let bringing = ImportBringing(options: options, publisher: publisher, postgres: postgres)
        tell(try await bringing.bring(file.exported))
      }
      let run = await ImportRun(options, configuration, file, pace: plan.rowsPerSecond, postgres)
      do {
        try await run.run()
        var summary = try await write(run, to: report, postgres)
        summary.earlier = run.earlier
        await run.stop()
        await postgres.stop()
        return summary
      } catch {
        await run.stop()
        throw error
      }
    } catch {
      await postgres.stop()
      throw error
    }
  }

  // MARK: The report

  /// Writes a line for each row. The ledger has the results, so that nobody holds all of them in memory.
  private func write(
    _ run: ImportRun, to report: ExportOutput, _ postgres: PostgresClient
  ) async throws -> ImportSummary {
    var summary = ImportSummary()
    let reader = PurchaseReader(postgres)
    var rest = file.rows[...]
    while !rest.isEmpty {
      let rows = rest.prefix(500)
      rest = rest.dropFirst(rows.count)
      let results = try await run.results(of: rows)
      let some = rows.compactMap { row in results[row.synchronizationId(round: options.round)].map { (row, $0) } }
      let purchases = try await reader.purchases(Array(Set(some.compactMap { key(of: $0.1) })))
      let now = unixMilliseconds()
      var lines: [UInt8] = []
      for (row, result) in some {
        let imported = ImportedRow(row, result, key(of: result).flatMap { purchases[$0] })
        summary.count(imported, now: now)
        lines += imported.line(now: now)
      }
      try report.write(lines)
    }
    summary.forgotten = file.rows.count - summary.rows
    return summary
  }

  private func key(of result: SynchronizationResult) -> PurchaseKey? {
    guard let original = result.originalTransactionId, let environment = result.environment else { return nil }
    return PurchaseKey(publisherId: options.source.publisher, environment: environment, originalTransactionId: original)
  }

  /// Tells the end on standard error: standard output may have the report.
  private func tell(_ summary: ImportSummary) {
    if options.source.isJSON {
      return complain(
        jsonLine { json in
          json.member("rows", Int64(summary.rows))
          json.member("withAccess", Int64(summary.withAccess))
          json.member("conflicts", Int64(summary.conflicts))
          json.member("different", Int64(summary.different))
          json.member("earlier", Int64(summary.earlier))
          json.member("forgotten", Int64(summary.forgotten))
          writeCounts(to: &json)
        })
    }
    for (code, count) in summary.results.sorted(by: { $0.key < $1.key }) { complain("\(code): \(count) rows") }
    complain(
      "\(summary.rows) rows are imported: \(summary.withAccess) give access, \(summary.conflicts) belong to another "
        + "customer, \(summary.different) differ from the file")
    if summary.forgotten > 0 {
      complain(
        "\(summary.forgotten) more rows are imported, but the ledger has deleted their results because of their age "
          + "(worker.statusRetentionSeconds), so the report lacks them")
    }
    if summary.earlier > 0, options.tells {
      complain(
        "\(summary.earlier) of them had a result before this run, and it told nobody about them; to tell, add --round "
          + "\(options.round + 1)")
    } else if summary.earlier > 0 {
      complain("\(summary.earlier) of them had a result before this run")
    }
  }

  private func tell(_ brought: ImportBringing.Summary) {
    if options.source.isJSON {
      return complain(
        jsonLine { json in
          json.member("broughtCustomers", Int64(brought.customers))
          json.member("broughtGrants", Int64(brought.grants))
          json.member("endedGrants", Int64(brought.ended))
          json.member("refused", Int64(brought.refused))
        })
    }
    complain(
      "\(brought.customers) customers and \(brought.grants) grants are brought; \(brought.ended) grants have ended, "
        + "\(brought.refused) things are left out")
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

  /// Writes what the file has besides the rows.
  private func writeCounts(to json: inout JSONWriter) {
    json.member("repeated", Int64(file.repeated))
    json.member("otherStores", Int64(file.otherStores))
    if options.source.preset == .countersign {
      json.member("customers", Int64(file.exported.customers))
      json.member("grants", Int64(file.exported.grants.count))
      json.member("unowned", Int64(file.exported.unowned))
    }
    json.member("problems", Int64(file.problems.count))
  }

  private func tellPlan() {
    if options.source.isJSON {
      return say(
        jsonLine { json in
          json.member("rows", Int64(plan.rows))
          json.member("fewestCalls", Int64(plan.fewestCalls))
          json.member("mostCalls", Int64(plan.mostCalls))
          json.member("seconds", plan.seconds)
          writeCounts(to: &json)
        })
    }
    say(
      "\(plan.rows) purchases to verify; \(file.repeated) rows repeat others, \(file.otherStores) are of other stores")
    if options.source.preset == .countersign {
      say(
        "\(file.exported.customers) customers and \(file.exported.grants.count) grants to bring; "
          + "\(file.exported.unowned) purchases have no owner")
    }
    say("\(file.problems.count) rows cannot work")
    say(
      "\(plan.fewestCalls) to \(plan.mostCalls) calls to Apple, at \(options.share) of the budget about "
        + "\(ImportProgress.time(plan.seconds))")
  }
}
