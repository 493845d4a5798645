import Domain
import JSON
import Testing

@testable import Doors

/// Whose credential asked for a job.
struct JobAskerTests {
  private func asker(_ door: Door?, isByCustomer: Bool = false) -> Job.Asker {
    Job(
      synchronizationId: "s", publisherId: 7, customerId: "me", transactionId: "1", isByCustomer: isByCustomer,
      door: door, registeredAt: 0
    ).asker
  }

  @Test func `two doors are opened by keys that every app has`() {
    #expect([Door.iaptic, .mbaasy].map { asker($0) } == [.app, .app])
    #expect([Door.cleeng, .playfab].map { asker($0) } == [.publisher, .publisher])
    #expect(asker(nil) == .publisher)
  }

  @Test func `the name of the token travels with the job`() throws {
    func job(_ name: String?) -> Job {
      Job(
        synchronizationId: "s", publisherId: 7, customerId: "me", transactionId: "1", tokenName: name, registeredAt: 0)
    }
    let read = try Job(JSONText(job("shop").encoded), doors: DoorCatalog())
    #expect(read.tokenName == "shop" && read == job("shop"))
    #expect(read.format == 1, "older workers run it, and do not know the name")
    #expect(String(decoding: job(nil).encoded, as: UTF8.self).contains("tokenName") == false)
    #expect(try Job(JSONText(job(nil).encoded), doors: DoorCatalog()).tokenName == nil)
  }

  @Test func `a customer's own token comes first`() {
    for door in DoorRegistry.all.map(\.id) { #expect(asker(door, isByCustomer: true) == .customer) }
    #expect(asker(nil, isByCustomer: true) == .customer)
  }
}
