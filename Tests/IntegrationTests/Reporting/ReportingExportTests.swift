import Domain
import EventLoop
import Fleets
import FoundationEssentials
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Views as CSV: what a file has, and that all of it is from one moment.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct ReportingExportTests {
  private static let head = """
    publisher_id,environment,original_transaction_id,transaction_id,bundle_id,product_id,kind,starts_at,ends_at,\
    is_first,is_trial,apple_offer_type,apple_offer_id,price,currency,storefront,quantity,is_upgraded,revoked_at,\
    is_family_shared
    """

  /// Adds transactions with the numbers of a range.
  private func add(_ numbers: ClosedRange<Int>, publisher: Int = 7, _ ledger: PostgresClient) async throws {
    try await ledger.execute(
      """
      INSERT INTO transactions (publisher_id, environment, original_transaction_id, transaction_id, purchase_date,
        price, kind, is_upgraded, product_id, bundle_id, signed_date, payload_sha256)
      SELECT \(publisher), 'Production', n, n, '2026-10-01 12:00:00.5Z', -1500, 'Consumable', false, '=coins', '',
        now(), ''
      FROM generate_series(\(numbers.lowerBound), \(numbers.upperBound)) n
      """)
  }

  private func lines(_ bytes: [UInt8]) -> [Substring] {
    String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
  }

  @Test func `thousands of rows are those of one moment, whatever is written meanwhile`() async throws {
    try await LedgerDatabase.migrated { ledger in
      try await add(1...5000, ledger)
      try await add(1...10, publisher: 8, ledger)
      var (bytes, largest, isChanged) = ([UInt8](), 0, false)
      let count = try await ReportingExport(ledger).read(.periods, publisher: 7) { page in
        bytes += page
        largest = max(largest, page.count)
        guard !isChanged, bytes.count > 1000 else { return }
        isChanged = true
        try await add(5001...6000, ledger)
        try await ledger.execute("DELETE FROM transactions WHERE publisher_id = 7 AND length(transaction_id) = 4")
      }
      #expect(isChanged && count == 5000 && largest < bytes.count / 2)
      let lines = lines(bytes)
      #expect(lines.count == 5001 && lines[0] == Self.head)
      #expect(
        lines.contains(
          "7,Production,4711,4711,\"\",'=coins,Consumable,2026-10-01T12:00:00.500Z,,true,false,,,-1.500,,,,false,,"
            + "false"))
      #expect(Set(lines).count == 5001)
      // The next one has another moment, and another view has the same connection.
      let left = try await ReportingExport(ledger).read(.periods, publisher: nil) { _ in }
      #expect(left == 1009)
      #expect(try await ReportingExport(ledger).read(.refunds, publisher: nil) { _ in } == 0)
    }
  }

  @Test func `the command writes a file that has its name only when it is whole`() async throws {
    try await LedgerDatabase.with(isMigrated: true) { endpoint in
      try await LedgerDatabase.client(endpoint) { ledger in
        try await add(1...3000, ledger)
      }
      let folder = FileManager.default.temporaryDirectory.appending(path: "countersign-csv-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try Data("{}".utf8).write(to: URL(filePath: folder + "/c.json"))
      let url = TestServers.current!.ledgerURL(database: endpoint.database)
      @LoopActor func export(_ words: String..., database: String = url) async throws -> (status: Int32, text: String) {
        let output = "\(folder)/\(UUID().uuidString)"
        let process = try ChildProcess(
          Repository.products + "/countersign", ["export", "--config", folder + "/c.json"] + words,
          environment: ["COUNTERSIGN_LEDGER_URL": database], output: output)
        let status = try await process.ended()
        return (status, String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self))
      }
      let file = folder + "/periods.csv"
      for _ in 1...2 {
        let done = try await export("--reporting", "periods", "--output", file, "--json")
        #expect(done.status == 0 && done.text == "{\"view\":\"periods\",\"rows\":3000}\n", "\(done)")
        #expect(lines([UInt8](try Data(contentsOf: URL(filePath: file)))).count == 3001)
      }
      #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
      #expect(!FileManager.default.fileExists(atPath: file + ".part"))
      let shown = try await export("--reporting", "events_by_day")
      #expect(shown.status == 0 && shown.text == "publisher_id,day,topic,events\r\n0 rows of reporting.events_by_day\n")
      let nowhere = try await export("--reporting", "periods", "--output", folder + "/none/x.csv")
      #expect(nowhere.status == 1 && nowhere.text.contains("cannot open"), "\(nowhere)")
      let unknown = try await export("--reporting", "cakes")
      #expect(unknown.status == 2 && unknown.text.contains("--reporting needs one of: purchases, periods"))
    }
  }
}
