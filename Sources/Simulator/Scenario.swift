/// What the simulator knows about a transaction. The first three digits of the transaction's id choose it.
///
/// In scenario 105, and only there, one purchase has two transactions. `105…` bought the monthly product. `1059…` (a 9
/// after the prefix, then the same digits) upgraded it to the yearly one. The original transaction of both is `105…`.
/// Everywhere else a transaction is its own original.
public enum Scenario: String, CaseIterable, Sendable {
  case active = "100"
  case expired = "101"
  case refunded = "102"
  case gracePeriod = "103"
  case billingRetry = "104"
  case upgraded = "105"
  case familyShared = "106"
  case nonConsumable = "110"
  case consumable = "111"
  case nonRenewing = "112"
  case notFound = "120"
  case sandboxOnly = "121"
  case unauthorizedInProduction = "122"
  case wrongApp = "123"
  case invalidId = "124"
  case rateLimitedOnce = "130"
  case failingOnce = "131"
  case failing = "132"
  case slow = "133"
  case interruptedTwice = "134"
  case tampered = "140"
  case foreignRoot = "141"
  case missingMarkers = "142"
  case wrongBundle = "143"
  case wrongEnvironment = "144"
  case garbage = "145"
  case oversized = "146"

  /// Returns the scenario of a transaction; an unknown prefix is ``notFound``.
  public init(transactionId: String) {
    self = Scenario(rawValue: String(transactionId.prefix(3))) ?? .notFound
  }

  /// The first three digits of the transaction ids.
  public var prefix: String { rawValue }

  /// The name for tables and logs.
  public var name: String { String(describing: self) }

  /// What happens, in one line.
  public var summary: String {
    switch self {
    case .active: "an active subscription"
    case .expired: "a subscription that expired ten days ago"
    case .refunded: "a subscription that was refunded yesterday"
    case .gracePeriod: "a subscription in its billing grace period"
    case .billingRetry: "a subscription in billing retry, without a grace period"
    case .upgraded: "a monthly subscription that was upgraded; the latest transaction has the yearly product"
    case .familyShared: "an active subscription shared by a family member"
    case .nonConsumable: "a non-consumable product"
    case .consumable: "a consumable product"
    case .nonRenewing: "a non-renewing subscription"
    case .notFound: "unknown in both environments (4040010), like every prefix that is not in this table"
    case .sandboxOnly: "an active subscription in the sandbox, 4040010 in production"
    case .unauthorizedInProduction: "401 in production, as for an app not yet released; active in the sandbox"
    case .wrongApp: "every call gets 400 (4000002), as for an app that is not the key's"
    case .invalidId: "every call gets 400 (4000006), as for an id that Apple cannot have given"
    case .rateLimitedOnce: "the first call gets 429 with Retry-After one second ahead, then active"
    case .failingOnce: "the first call gets 500 (5000001), then active"
    case .failing: "every call gets 500 (5000000)"
    case .slow: "active, answered after three seconds"
    case .interruptedTwice: "the connection is reset in mid-body for the first two calls, then active"
    case .tampered: "the payload was changed after it was signed"
    case .foreignRoot: "signed under another root with the same names"
    case .missingMarkers: "signed under the right root by certificates without the marker extensions"
    case .wrongBundle: "the payload names another bundle id"
    case .wrongEnvironment: "the payload names the other environment"
    case .garbage: "status 200 with a body that is not JSON"
    case .oversized: "status 200 with a body of 10 MB"
    }
  }
}
