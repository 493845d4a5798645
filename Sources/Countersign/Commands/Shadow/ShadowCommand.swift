import Configuration
import Domain
import EventLoop
import Import
import JSON
import Ledger
import Postgres
import Service

/// `countersign shadow compare`: tells for which customers another system and the ledger disagree about access, and
/// why. It reads the ledger and writes nothing there.
@LoopActor
struct ShadowCommand {
  nonisolated static let command = Command(
    name: "shadow", summary: "lists the customers on whom another system and the ledger disagree, and why",
    synopsis: "compare --config FILE --publisher ID --from \(ShadowOptions.Source.names.joined(separator: "|")) FILE "
      + "[--report FILE] [--json]",
    actions: ShadowOptions.Action.allCases.map(\.rawValue), mostOperands: 2,
    options: VendorFileOptions.all("whose file it is", ShadowOptions.Source.names) + [
      CommandOption("--json", "the summary as JSON, on standard error")
    ], run: run)

  private let options: VendorFileOptions
  private let publisher: Publisher
  private let view: View
  private let postgres: PostgresClient

  /// What the other system says.
  private struct View {
    let rows: [CustomerId: [ImportRow]]
    let problems: [ImportProblem]

    init(_ rows: some Sequence<ImportRow>, _ problems: [ImportProblem]) {
      self.rows = Dictionary(grouping: rows, by: \.customerId)
      self.problems = problems
    }

    /// - Throws: `VendorFileOptions.Unreadable`.
    init(_ options: ShadowOptions, _ evidence: ImportEvidence) throws {
      switch options.source {
      case .export:
        let file = try options.file.read(evidence)
        self.init(file.rows, file.problems)
      case .webhooks(let reader):
        let recorded = try options.file.reading { RecordedWebhooks(reader, now: unixMilliseconds(), read: $0) }
        if recorded.rows.isEmpty, recorded.ignored > 0 {
          complain("none of \(recorded.ignored) bodies says something about a purchase; is --from right?")
        }
        self.init(recorded.rows, recorded.problems)
      }
    }
  }

  static func run(_ arguments: [String]) async -> Int32 {
    let (options, endpoint, publisher): (VendorFileOptions, PostgresEndpoint, Publisher)
    let view: View
    do {
      let (found, rest) = try ShadowOptions.read(arguments)
      let configuration = try LoadedConfiguration(rest, command: "shadow")
      (options, publisher) = (found.file, try configuration.publisher(found.file.publisher, for: "shadow"))
      endpoint = try PostgresEndpoint(configuration.settings.ledger, name: "countersign shadow")
      let evidence = try ImportEvidence(publisher, rootFiles: configuration.settings.appStore.rootFiles)
      do {
        view = try View(found, evidence)
      } catch {
        throw UsageError(description: "countersign shadow: \(error)")
      }
    } catch {
      complain("\(error)")
      return 2
    }
    let postgres = await PostgresClient.opened(endpoint)
    let command = ShadowCommand(options: options, publisher: publisher, view: view, postgres: postgres)
    var status: Int32 = 0
    do {
      try await SchemaCheck(postgres).pass(within: .seconds(30))
      try await command.compare()
    } catch {
      complain(error, by: "shadow")
      status = 1
    }
    await postgres.stop()
    return status
  }

  private func compare() async throws {
    for problem in view.problems { complain("left out: \(problem)") }
    let report = try ExportOutput.whole(options.report)
    var summary = ComparisonSummary()
    let rows = view.rows
    let customers = rows.keys.sorted { (rows[$0]?.first?.line ?? 0) < (rows[$1]?.first?.line ?? 0) }
    for some in customers.chunks(of: Self.atOnce) {
      var lines: [UInt8] = []
      for customer in try await compared(some, rows) {
        let now = unixMilliseconds()
        let verdict = customer.verdict(offers: publisher.offers, now: now)
        summary.count(verdict)
        if verdict != .same { lines += line(of: customer, now: now) }
      }
      try report.write(lines)
    }
    try await compareOthers(than: rows, &summary, report)
    try report.finish()
    tell(summary)
  }

  /// The most customers who are read at once.
  private static let atOnce = 100

  /// The customers whom the ledger knows, and the file does not.
  private func compareOthers(
    than rows: [CustomerId: [ImportRow]], _ summary: inout ComparisonSummary, _ report: ExportOutput
  ) async throws {
    let list = CustomerList(postgres, publisher: publisher.id)
    var last: CustomerId?
    while case let page = try await list.page(after: last, limit: Self.atOnce), let end = page.last {
      last = end
      var lines: [UInt8] = []
      for customer in try await compared(page.filter { rows[$0] == nil }, [:]) {
        let now = unixMilliseconds()
        guard customer.verdict(offers: publisher.offers, now: now) == .onlyHere else { continue }
        summary.countNotInFile()
        lines += line(of: customer, now: now)
      }
      try report.write(lines)
    }
  }

  private func line(of customer: ComparedCustomer, now: Int64) -> [UInt8] {
    let own = customer.rows.compactMap(\.purchase)
    return customer.line(rules: publisher.accessRules(for: customer.customerId, owning: own), now: now)
  }

  private func compared(
    _ customers: [CustomerId], _ rows: [CustomerId: [ImportRow]]
  ) async throws -> [ComparedCustomer] {
    let holdings = Holdings(postgres)
    let readings = customers.map { id in
      let key = CustomerKey(publisherId: publisher.id, id: id)
      return Task.immediate { @LoopActor in try await holdings.holdings(of: key) }
    }
    let named = customers.flatMap { rows[$0] ?? [] }.flatMap { keys($0) }
    let purchases = named.isEmpty ? [:] : try await PurchaseReader(postgres).purchases(named)
    var found: [ComparedCustomer] = []
    for (id, reading) in zip(customers, readings) {
      let held = try await reading.value
      let own = (rows[id] ?? []).map { row in
        ComparedCustomer.Row(
          row,
          keys(row).lazy.compactMap { purchases[$0] }.first
            ?? held.purchases.first { $0.transactions[row.transactionId] != nil })
      }
      let entitlements = Entitlements.of(
        purchases: held.purchases, grants: held.grants,
        rules: publisher.accessRules(for: id, owning: held.purchases), now: unixMilliseconds())
      found.append(ComparedCustomer(id, own, entitlements, purchases: held.purchases))
    }
    return found
  }

  /// The purchases that a row may name: its id is an original one, of either environment.
  private func keys(_ row: ImportRow) -> [PurchaseKey] {
    [Environment.production, .sandbox].map {
      PurchaseKey(
        publisherId: publisher.id, environment: $0,
        originalTransactionId: OriginalTransactionId(row.transactionId.text))
    }
  }

  /// Tells the end on standard error: standard output may have the report.
  private func tell(_ summary: ComparisonSummary) {
    guard options.isJSON else { return complain(summary.text) }
    complain(
      jsonLine { json in
        json.member("agree", Int64(summary.counts[.same] ?? 0))
        json.member("different", Int64(summary.counts[.different] ?? 0))
        json.member("notInFile", Int64(summary.notInFile))
        json.member("onlyHere", Int64(summary.counts[.onlyHere] ?? 0))
        json.member("onlyThere", Int64(summary.counts[.onlyThere] ?? 0))
        json.member("problems", Int64(view.problems.count))
      })
  }
}

extension Array {
  /// Pieces of a length, in their order.
  fileprivate func chunks(of length: Int) -> [[Element]] {
    stride(from: 0, to: count, by: length).map { Array(self[$0..<Swift.min($0 + length, count)]) }
  }
}
