import Domain
import Testing

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

  @Test func `a customer's own token comes first`() {
    for door in Door.allCases { #expect(asker(door, isByCustomer: true) == .customer) }
    #expect(asker(nil, isByCustomer: true) == .customer)
  }
}
