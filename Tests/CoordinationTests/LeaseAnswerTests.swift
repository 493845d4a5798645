import Domain
import Redis
import Testing

@testable import Coordination

/// Answers of the script that takes a lease.
struct LeaseAnswerTests {
  private static let whole: [RESPValue] = [
    .text("taken"), .integer(9), .text("b|Production"), .integer(1_790_000_000_000), .integer(2),
    .text("b|Production"), .text("transaction-info"), .text("100"), .text("Production"), .integer(3),
  ]

  @Test func `a lease with everything`() {
    #expect(
      LeaseAnswer(.array(Self.whole))
        == .taken(
          Lease(
            fence: 9, route: "b|Production", takenAt: 1_790_000_000_000, crashes: 2,
            call: CallPermit(place: "b|Production", endpoint: "transaction-info"),
            covered: CoveredPurchase(originalTransactionId: "100", environment: "Production"), deliveries: 3)))
  }

  @Test func `an answer may end anywhere`() {
    for count in 2...Self.whole.count {
      guard case .taken(let lease)? = LeaseAnswer(.array(Array(Self.whole.prefix(count)))) else {
        Issue.record("no lease in \(count) elements")
        continue
      }
      #expect(lease.fence == 9)
      #expect((lease.call == nil) == (count < 7) && (lease.covered == nil) == (count < 9))
    }
    #expect(LeaseAnswer(.array([.text("taken")])) == nil)
    #expect(LeaseAnswer(.array([.text("line")])) == .inLine(.seconds(1), copy: ""))
    #expect(
      LeaseAnswer(.array([.text("line"), .integer(2500), .text("c")])) == .inLine(.milliseconds(2500), copy: "c"))
    #expect(LeaseAnswer(.array([.text("superseded")])) == .superseded)
    #expect(LeaseAnswer(.array([.text("busy")])) == .busy(.seconds(1)))
  }

  @Test func `a wait ends within a day`() {
    #expect(LeaseAnswer(.array([.text("line"), .integer(.max)])) == .inLine(.seconds(86_400), copy: ""))
    #expect(LeaseAnswer(.array([.text("busy"), .integer(.min)])) == .busy(.milliseconds(1)))
  }

  @Test func `anything else is no answer`() {
    for value: RESPValue in [.null, .array([]), .text("taken"), .array([.text("gone")]), .array([.integer(1)])] {
      #expect(LeaseAnswer(value) == nil)
    }
  }
}
