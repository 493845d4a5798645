import Domain
import EventLoop
import Import
import Ledger
import Postgres
import TestSupport
import Testing

@testable import Worker

/// What an import does beside its rows, by value: it brings an export's customers and grants, and writes the report.
@LoopActor
struct ImportBringingTests {
  private struct NoSignatures: ImportVerifier {
    func purchases(in text: ImportSignedText) throws(ImportRefusal) -> [ImportSignedPurchase] { [] }
  }

  private func file(_ preset: ExportColumns, _ lines: [String]) -> ImportFile {
    var rest = lines[...]
    return ImportFile(preset: preset, verifier: NoSignatures()) { rest.popFirst().map { Array($0.utf8) } }
  }

  // MARK: Customers and grants

  private static let begin = #"{"kind":"export","format":1}"#
  private static let customer = #"{"kind":"customer","customerId":"ann","isRegistered":true,"access":[]}"#
  private static let grant =
    #"{"kind":"grant","grantId":"00000000-0000-4000-8000-000000000001","createdAt":"2026-11-20T09:00:00.000Z","#
    + #""customerId":"ann","expiresAt":"2026-12-24T00:00:00.000Z","offerId":"S2","reason":"goodwill"}"#

  @LoopActor
  private final class Asked {
    var count = 0
  }

  private static let sandboxAccess =
    #"{"kind":"sandboxAccess","customerId":"ann","reason":"testing","setAt":"2026-11-20T09:00:00.000Z","#
    + #""until":"2026-12-24T00:00:00.000Z"}"#

  private let publisher = Publisher(
    id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([]), webhooks: [])

  /// Brings lines of an export, with a ledger that nobody has started: whoever asks it has gone on.
  private func bring(
    _ lines: [String], _ standing: @escaping @LoopActor () throws -> ImportRun.Standing
  ) async throws -> ImportBringing.Summary {
    let postgres = PostgresClient(
      try PostgresEndpoint(url: "postgres://nobody@127.0.0.1:1/none", password: nil, caFile: nil), connections: 1
    ) { _ in }
    var rest = lines[...]
    let bringing = ImportBringing(
      publisher, isTold: false, by: nil, postgres, nextLine: { rest.popFirst().map { Array($0.utf8) } },
      tell: { _ in }, refused: { _, _, _ in }, publish: { $0.leaveInOutbox() },
      standing: standing)
    return try await bringing.bring(file(.countersign, lines).exported)
  }

  @Test func `nothing is brought for an import that was cancelled, given away or lost`() async throws {
    for lines in [
      [Self.begin, Self.customer, Self.grant], [Self.begin, Self.grant], [Self.begin, Self.sandboxAccess],
    ] {
      for standing in [ImportRun.Standing.cancelled, .yields] {
        let asked = Asked()
        let summary = try await bring(lines) {
          asked.count += 1
          return standing
        }
        #expect(asked.count == 1 && !summary.isWhole && summary == ImportBringing.Summary(isWhole: false))
      }
      await #expect(throws: ImportRun.Stopped.self) {
        _ = try await bring(lines) { throw ImportRun.Stopped(description: "lost") }
      }
    }
    #expect(try await bring([Self.begin]) { .cancelled }.isWhole)
    // Its rows may all have results, and the import is not finished all the same.
    #expect(ImportRun.Ending.of(rows: .finished, isWhole: false) == .cancelled)
    #expect(ImportRun.Ending.of(rows: .yielded, isWhole: false) == .yielded)
    #expect(ImportRun.Ending.of(rows: .cancelled, isWhole: false) == .cancelled)
    for ending in [ImportRun.Ending.finished, .cancelled, .yielded] {
      #expect(ImportRun.Ending.of(rows: ending, isWhole: true) == ending)
    }
  }

  // MARK: The report

  @LoopActor
  private final class Written {
    var pieces: [[UInt8]] = []
  }

  /// Writes the report of a file whose rows have a result, besides some customers'.
  private func report(
    _ file: ImportFile, without customers: Set<CustomerId> = []
  ) async throws -> (summary: ImportSummary, pieces: [[UInt8]]) {
    let missing = Set(file.rows.filter { customers.contains($0.customerId) }.map { $0.synchronizationId(round: 1) })
    let writing = ImportReportWriting(
      publisher, round: 1,
      results: { ids in
        let found = ids.filter { !missing.contains($0) }
        return Dictionary(
          found.map { ($0, SynchronizationResult(.purchaseSynchronized, accessGranted: true)) }
        ) { $1 }
      }, purchases: { _ in [:] })
    let written = Written()
    let summary = try await writing.write(file.rows, file.leftOut) { written.pieces.append($0) }
    return (summary, written.pieces)
  }

  @Test func `a report is written in pieces, however long its lines are`() async throws {
    let vendor = String(repeating: "\u{1f600}", count: 256)
    let file = file(
      .plain, ["customer_id,transaction_id,vendor_id"] + (1...600).map { "c\($0),\($0),\(vendor)" })
    let (summary, pieces) = try await report(file)
    #expect(summary.rows == 600 && summary.forgotten == 0)
    #expect(pieces.count > 2)
    #expect(pieces.allSatisfy { !$0.isEmpty && $0.count < 260 << 10 && $0.last == UInt8(ascii: "\n") })
    let lines = pieces.joined().split(separator: UInt8(ascii: "\n"))
    #expect(lines.count == 600 && lines.last?.starts(with: Array(#"{"line":601,"#.utf8)) == true)
  }

  @Test func `a report has one line a row, in the order of the file, each time`() async throws {
    // More rows than a page has, and rows that are left out at each end of one.
    let rows = (1...1200).map { $0 % 5 == 1 ? ",\($0)" : $0 % 5 == 2 ? "c\($0 - 2),\($0 - 2)" : "c\($0),\($0)" }
    let file = file(.plain, ["customer_id,transaction_id"] + rows)
    let (summary, pieces) = try await report(file, without: ["c3", "c1200"])
    #expect(file.rows.count + file.leftOut.count == 1200)
    #expect(summary.forgotten == 2 && summary.rows == file.rows.count - 2)
    let lines = pieces.joined().split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    #expect(lines.count == 1200)
    for (number, line) in lines.enumerated() { #expect(line.hasPrefix(#"{"line":\#(number + 2),"#), "\(line)") }
    #expect(lines[0] == #"{"line":2,"result":"skipped","cause":"names no customer"}"#)
    #expect(lines[2] == #"{"line":4,"customerId":"c3","transactionId":"3","result":"missing"}"#)
    #expect(lines[6] == #"{"line":8,"result":"repeated","firstLine":6}"#)
    #expect(lines[1199].hasSuffix(#""result":"missing"}"#))
    #expect(lines[1195] == #"{"line":1197,"result":"skipped","cause":"names no customer"}"#)
    #expect(try await report(file, without: ["c3", "c1200"]).pieces == pieces)
    // A file whose rows are all left out has a report, too.
    let none = try await report(self.file(.plain, ["customer_id,transaction_id", ",1", ",2"]))
    #expect(none.summary == ImportSummary() && none.pieces.joined().count { $0 == UInt8(ascii: "\n") } == 2)
  }
}
