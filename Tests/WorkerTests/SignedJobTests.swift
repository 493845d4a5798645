import AppStore
import Domain
import EventLoop
import RoleSupport
import TestSupport
import Testing

@testable import Worker

/// Jobs of an import whose row says that the signature of its transaction is enough.
@LoopActor
struct SignedJobTests {
  private let apple: AppleByValue
  private let bench: JobRunBench

  init() throws {
    apple = try AppleByValue()
    bench = try JobRunBench(apps: [apple.app()], signedData: apple.authority.verifier())
    bench.places = AppPlace.all(of: bench.publishers.all[0], budgetScale: 1)
  }

  private func job(_ jws: String, imported: Job.Import? = .silent, transaction: TransactionId = "100") -> Job {
    Job(
      synchronizationId: "s", publisherId: 1, customerId: "7", transactionId: transaction, imported: imported,
      signedTransaction: jws, registeredAt: JobRunBench.now - 500)
  }

  private func bought(by other: TestAuthority? = nil, _ type: ProductType = .nonConsumable) throws -> String {
    try apple.signed(by: other) { payload in
      payload.type = type
      if type != .autoRenewable { payload.expiresDate = nil }
    }
  }

  @Test func `a purchase that does not renew is settled without a call`() async throws {
    let delivery = await bench.run(job(try bought()))
    #expect(
      bench.ledger.results == [
        SynchronizationResult(
          .purchaseSynchronized, accessGranted: true, offerId: "S1", originalTransactionId: "100",
          environment: "Production")
      ])
    #expect(bench.asked == 0)
    #expect(bench.count("countersign_imported_rows_total", #"{result="PURCHASE_SYNCHRONIZED"}"#) == 1)
    // Without a place there is no budget and no line.
    #expect(bench.leases.askedPlaces.map(\.count) == [0])
    #expect(delivery.fate == .acknowledged)
  }

  @Test func `Apple is asked about everything else`() async throws {
    let jobs = [
      job(try bought(.autoRenewable)), job(try bought(by: TestAuthority())), job("x.y.z"),
      job(try bought(), imported: nil), job(try bought(), transaction: "101"),
    ]
    for job in jobs { await bench.run(job) }
    #expect(bench.asked == jobs.count)
    #expect(bench.leases.askedPlaces.map(\.count) == [2, 2, 2, 2, 2])
  }
}
