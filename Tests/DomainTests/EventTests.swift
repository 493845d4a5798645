import Formats
import JSON
import Testing

@testable import Domain

/// The ids and the bodies of events.
struct EventTests {
  private func job(_ publisher: PublisherId, _ id: SynchronizationId) -> Job {
    Job(synchronizationId: id, publisherId: publisher, customerId: "c", transactionId: "1", registeredAt: 0)
  }

  @Test func `ids are stable and distinct`() {
    // `printf '1:723:inappPurchaseSyncResult6:sync-11:11:c' | sha256sum`, the first 32 digits.
    #expect(Event.id(of: job(7, "sync-1")) == "evt_ea6e34891159539a3446f10d94336d95")
    let ids = [job(7, "a"), job(8, "a"), job(7, "b"), job(7, "a.b|c")].map(Event.id(of:))
    #expect(Set(ids).count == ids.count)
    for id in ids {
      #expect(id.text.utf8.count == 36)
      #expect(!id.text.contains("."))
    }
  }

  @Test func `a changed entitlement is told as documented`() {
    let before = ToldEntitlement(
      offerId: "S1", accessGranted: true, expiresAt: 1_700_000_000_000, willRenew: true, billingProblem: false,
      environment: "Production")
    let change = EntitlementChange(offerId: "S1", before: before, after: nil)
    let event = Event(
      of: change, customer: CustomerKey(publisherId: 7, id: "42"), version: 3, cause: .transfer, time: 0,
      traceparent: nil)
    #expect(
      String(decoding: event.body, as: UTF8.self) == """
        {"broadcasterId":7,"data":{"before":{"accessGranted":true,"billingProblem":false,"environment":"Production",\
        "expiresAt":"2023-11-14T22:13:20.000Z","offerId":"S1","willRenew":true},"cause":"transfer",\
        "cleengCustomerId":42,"customerId":"42","customerVersion":3,"offerId":"S1"},"topic":"entitlementsChanged"}
        """)
  }
}
