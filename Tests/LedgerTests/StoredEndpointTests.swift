import Domain
import Testing

@testable import Ledger

/// A schedule in the ledger, whose rows may come from a restored backup or from a person.
struct StoredEndpointTests {
  @Test func `a schedule's delays are from nothing to a week`() {
    #expect(StoredEndpoint.retry("1000,604800000") == .schedule([.seconds(1), .seconds(604_800)]))
    #expect(
      StoredEndpoint.retry("9223372036854775807,-9223372036854775808,-1")
        == .schedule([.seconds(604_800), .zero, .zero]))
  }

  @Test(arguments: ["", "1,x", "9223372036854775808", "1.5"]) func `another text is no schedule`(text: String) {
    #expect(StoredEndpoint.retry(text) == nil)
  }
}
