import Testing

@testable import Simulator

/// Send Consumption Information, as Apple checks it.
struct ConsumptionBodyTests {
  private static let good = #""customerConsented": true, "sampleContentProvided": false, "deliveryStatus": "DELIVERED""#
  private static let old = """
    "customerConsented": true, "sampleContentProvided": false, "appAccountToken": "", "accountTenure": 7,
    "consumptionStatus": 3, "deliveryStatus": 5, "lifetimeDollarsPurchased": 7, "lifetimeDollarsRefunded": 7,
    "platform": 2, "playTime": 7, "userStatus": 4
    """

  private func code(_ body: String, version: Int = 2, _ kind: LifeKind? = .consumable) -> Int? {
    do throws(StoreFailure) {
      _ = try ConsumptionBody(Array("{\(body)}".utf8), version: version, kind: kind)
      return nil
    } catch {
      return error.code
    }
  }

  @Test(arguments: [
    "", #", "consumptionPercentage": 50000"#, #", "refundPreference": "DECLINE""#,
    #", "refundPreference": "GRANT_FULL""#,
    #", "consumptionPercentage": 1, "refundPreference": "GRANT_PRORATED""#, #", "refundPreference": null"#,
  ])
  func goodOnes(more: String) {
    #expect(code(Self.good + more) == nil)
  }

  @Test(arguments: [
    (#""sampleContentProvided": true, "deliveryStatus": "DELIVERED""#, 4_000_035),
    (#""customerConsented": false, "sampleContentProvided": true, "deliveryStatus": "DELIVERED""#, 4_000_035),
    (#""customerConsented": true, "deliveryStatus": "DELIVERED""#, 4_000_041),
    (#""customerConsented": true, "sampleContentProvided": true, "deliveryStatus": 0"#, 4_000_036),
    (good + #", "consumptionPercentage": 100001"#, 4_000_000), (good + #", "consumptionPercentage": "1""#, 4_000_000),
    (good + #", "refundPreference": "GRANT_PRORATED""#, 4_000_000), (good + #", "refundPreference": 1"#, 4_000_000),
    (good + #", "mood": 1"#, 4_000_000),
    (
      #""customerConsented": true, "sampleContentProvided": true, "deliveryStatus": "UNDELIVERED_OTHER", "#
        + #""consumptionPercentage": 1"#, 4_000_000
    ),
  ])
  func mistakes(body: String, expected: Int) {
    #expect(code(body) == expected)
  }

  /// Apple counts the time of a subscription itself.
  @Test func subscriptionsHaveNoPercentage() {
    #expect(code(Self.good + #", "consumptionPercentage": 0"#, .autoRenewable) == 4_000_000)
    #expect(code(Self.good + #", "refundPreference": "GRANT_PRORATED""#, .autoRenewable) == nil)
  }

  @Test func versionOne() {
    #expect(code(Self.old, version: 1) == nil && code(Self.old + #", "refundPreference": 2"#, version: 1) == nil)
    #expect(code(Self.old, version: 1, .autoRenewable) == nil && code(Self.old, version: 1, nil) == nil)
    #expect(code(Self.old, version: 1, .nonConsumable) == 4_000_047)
    #expect(code(Self.old, version: 1, .nonRenewing) == 4_000_047)
    #expect(code(Self.good, version: 1) == 4_000_033)
    for (member, code) in [
      ("accountTenure", 4_000_032), ("consumptionStatus", 4_000_034), ("deliveryStatus", 4_000_036),
      ("lifetimeDollarsPurchased", 4_000_037), ("lifetimeDollarsRefunded", 4_000_038), ("platform", 4_000_039),
      ("playTime", 4_000_040), ("userStatus", 4_000_042),
    ] {
      #expect(
        self.code(Self.old.replacing("\"\(member)\": ", with: "\"\(member)\": 9"), version: 1) == code, "\(member)")
    }
    #expect(code(Self.old + #", "refundPreference": 4"#, version: 1) == 4_000_000)
    #expect(code(Self.old + #", "mood": 4"#, version: 1) == 4_000_000)
  }
}
