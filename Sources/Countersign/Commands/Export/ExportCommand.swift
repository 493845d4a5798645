import Configuration
import Domain
import EventLoop
import Glibc
import JSON
import Ledger
import Postgres
import Service

/// `countersign export`: writes all data of a publisher as JSON lines, or a view for analysts as CSV.
@LoopActor
struct ExportCommand {
  nonisolated static let command = Command(
    name: "export", summary: "writes all data of a publisher as JSON lines, or a view for analysts as CSV",
    synopsis: "--config FILE --publisher ID [--output FILE [--resume]] [--fast] [--json] | "
      + "--config FILE --reporting VIEW [--publisher ID] [--output FILE] [--json]",
    options: ExportOptions.all, run: run)

  private let options: ExportOptions
  private let postgres: PostgresClient

  static func run(_ arguments: [String]) async -> Int32 {
    let options: ExportOptions
    let endpoint: PostgresEndpoint
    let publisher: Publisher?
    do {
      let (found, rest) = try ExportOptions.read(arguments)
      options = found
      if options.view != nil {
        // A view needs no publisher's file.
        let settings = try ConfigurationLoader(rest, command: "export").settings(for: [.migrate])
        (endpoint, publisher) = (try PostgresEndpoint(export: settings.ledger, name: "countersign export"), nil)
      } else {
        let configuration = try LoadedConfiguration(rest, command: "export")
        (endpoint, publisher) = (
          try PostgresEndpoint(export: configuration.settings.ledger, name: "countersign export"),
          try configuration.publisher(options.publisher ?? 0, for: "export")
        )
      }
    } catch {
      complain("\(error)")
      return 2
    }
    let postgres = await PostgresClient.opened(endpoint)
    let command = ExportCommand(options: options, postgres: postgres)
    var status: Int32 = 0
    do {
      try await SchemaCheck(postgres).pass(within: .seconds(30))
      if let view = options.view { try await command.export(view) }
      if let publisher { try await command.export(publisher) }
    } catch {
      complain(error, by: "export")
      status = 1
    }
    await postgres.stop()
    return status
  }

  /// Writes a view. A file has its name only once it is whole.
  private func export(_ view: ReportingView) async throws {
    let output = try ExportOutput.whole(options.output)
    let rows = try await ReportingExport(postgres).read(view, publisher: options.publisher) { try output.write($0) }
    try output.finish()
    summarize("\(rows) rows of reporting.\(view.rawValue)") {
      $0.member("view", view.rawValue)
      $0.member("rows", rows)
    }
  }

  /// Writes all of a publisher, or what a file lacks of it.
  private func export(_ publisher: Publisher) async throws {
    var soFar: ExportedSoFar?
    var output = ExportOutput.standard
    if let file = options.output, options.resumes {
      let (found, length) = try ExportFile.read(file, publisher: publisher.id)
      guard !found.isWhole else { return summarize(found.counts) }
      // Half a line of a killed export is no line.
      guard truncate(file, off_t(length)) == 0 else { throw ExportOutput.Failure("shorten", file, errno) }
      (soFar, output) = (found, try ExportOutput(file: file, flags: O_APPEND))
    } else if let file = options.output {
      // A finished export is not to be lost because somebody forgot --resume.
      output = try ExportOutput(file: file, flags: O_EXCL)
    }
    let progress = ExportProgress(isTold: !options.isJSON)
    let sleeps = !options.isFast
    let counts = try await PublisherExport(postgres, publisher).run(
      after: soFar,
      PublisherExport.Caller(
        write: { bytes in
          try output.write(bytes)
          progress.add(bytes)
        },
        // The ledger has at least half of its time for others.
        rest: { if sleeps { try await EventLoop.sleep(for: min($0, .seconds(1))) } }))
    try output.finish()
    summarize(counts)
  }

  private func summarize(_ counts: [ExportKind: Int64]) {
    let texts = ExportKind.allCases.map { "\(counts[$0] ?? 0) \($0.rawValue)" }
    summarize("all written, in lines: \(texts.joined(separator: ", "))") {
      $0.member("audit", counts[.audit] ?? 0)
      $0.member("customer", counts[.customer] ?? 0)
      $0.member("event", counts[.event] ?? 0)
      $0.member("grant", counts[.grant] ?? 0)
      $0.member("purchase", counts[.purchase] ?? 0)
      $0.member("sandboxAccess", counts[.sandboxAccess] ?? 0)
    }
  }

  /// Tells the end on standard error: standard output may have the lines.
  private func summarize(_ text: String, _ members: (inout JSONWriter) -> Void) {
    complain(options.isJSON ? jsonLine(members) : text)
  }
}

extension LoadedConfiguration {
  /// A publisher of the configuration.
  ///
  /// - Parameter command: whose user gets the sentence.
  /// - Throws: a sentence if there is none, or if its file has a mistake.
  func publisher(_ id: PublisherId, for command: String) throws -> Publisher {
    guard let publisher = publishers[id] else {
      throw UsageError(description: "countersign \(command): no publisher \(id) in the configuration")
    }
    return publisher
  }
}
