import Postgres
import Testing

@testable import Import
@testable import Ledger
@testable import Worker

/// What a run of an import over HTTP does about an error: a next run goes on, or the import has failed.
struct UploadedImportRunTests {
  private func error(_ code: PostgresError.Code) -> PostgresError {
    PostgresError(code, operation: "upsert purchases", target: "db.internal:5432", cause: "purchase of publisher 7")
  }

  /// Only what fails the same way each time ends an import. Otherwise workers would repeat it for ever.
  @Test(arguments: ["22P02", "23514", "42703"])
  func workThatTheLedgerAlwaysRefusesEndsTheImport(_ state: String) throws {
    let cause = try #require(UploadedImportRun.lastingCause(of: error(.server(sqlState: state))))
    #expect(cause.contains(state) && cause.contains("start the import again"))
    // The publisher reads it: no host, and nothing of a row.
    #expect(!cause.contains("db.internal") && !cause.contains("publisher 7"))
  }

  @Test(arguments: [
    PostgresError.Code.unreachable, .connectionLost, .timeout, .closed, .server(sqlState: "40P01"),
    .server(sqlState: "53100"), .server(sqlState: "57P01"),
  ])
  func aServerThatIsAwayOrFullEndsNoImport(_ code: PostgresError.Code) {
    #expect(UploadedImportRun.lastingCause(of: error(code)) == nil)
  }

  @Test func aRowThatNobodyReadsEndsTheImport() throws {
    let cause = try #require(UploadedImportRun.lastingCause(of: UnreadableRecord("the state of import imp_1")))
    #expect(cause.contains("cannot read"))
  }

  @Test func aMistakeInTheFileIsToldAsItIs() {
    let long = LineSplitter.TooLong(most: 7)
    #expect(UploadedImportRun.lastingCause(of: long) == long.description)
    #expect(UploadedImportRun.lastingCause(of: CancellationError()) == nil)
  }
}
