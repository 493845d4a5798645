import Domain
import Testing

@testable import AppStore

/// Decisions about the calls, by value.
struct ServerAPIDecisionTests {
  static let now: Int64 = 1_700_000_000_000

  @Test(arguments: [
    ("1700000005000", 1_700_000_005_000),  // Apple: milliseconds since 1970
    ("1700000005", 1_700_000_005_000),  // seconds since 1970
    ("5", 1_700_000_005_000),  // seconds from now
    ("Tue, 14 Nov 2023 22:13:25 GMT", 1_700_000_005_000),
    ("0", 1_700_000_000_000), ("1600000000000", 1_700_000_000_000),  // past
    ("86400", 1_700_003_600_000), ("1800000000000", 1_700_003_600_000),  // capped at an hour
    ("9223372036854775807", 1_700_003_600_000),
    ("-5", nil), ("", nil), ("soon", nil), ("Tue, 14 Nov 2023 25:13:25 GMT", nil),
    ("Tue, 14 Foo 2023 22:13:25 GMT", nil), ("14 Nov 2023", nil),
  ])
  func retryAfter(text: String, expected: Int64?) {
    #expect(AppleRetryAfter.milliseconds(text, now: Self.now) == expected)
  }

  @Test func limits() {
    #expect(AppStoreEndpoint.transactionInfo.callsPerSecond(in: .production) == 50)
    #expect(AppStoreEndpoint.transactionInfo.callsPerSecond(in: .sandbox) == 5)
    #expect(AppStoreEndpoint.testNotification.callsPerSecond(in: .sandbox) == 0.1)
  }
}
